"""Measuring that several checks share: what a user's function does, before anything is compared."""
