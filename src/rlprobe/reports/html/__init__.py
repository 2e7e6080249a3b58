"""The report: one HTML file that holds everything and asks the network for nothing.

`gather` takes a Run and its Diagnosis into a Dossier, `page` renders a Dossier; other files render one section each.
This package imports nothing eagerly.
"""
