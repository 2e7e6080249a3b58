"""The guardian: follows runs while they train, says once what goes wrong, and asks a run to halt where it may.

A process of its own: it reads recordings and logs, and writes nothing into a run but a request (`control.json`) and its
own memory of what it has told.
"""
