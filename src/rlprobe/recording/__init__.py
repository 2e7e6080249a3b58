"""See docs/decisions and the module docstrings; this package imports nothing eagerly."""
