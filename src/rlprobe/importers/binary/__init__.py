"""Framings and encodings of binary logs: bytes in, records out; what the records mean is the formats' business."""
