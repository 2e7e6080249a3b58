"""What the guardian costs a person in alerts and saves in steps, on runs played row by row."""
