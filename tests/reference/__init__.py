"""Slow, obvious twins of the statistics kernels."""
