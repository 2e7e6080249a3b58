"""The verifier measured on itself: correct pipelines where it is silent, one-line bugs of them that it finds."""
