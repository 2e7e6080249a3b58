"""A read-only server of the Model Context Protocol: runs, diagnoses, samples and pages under one folder.

Only `server.py` knows the protocol's package; the rest answers questions as JSON text of bounded size.
"""
