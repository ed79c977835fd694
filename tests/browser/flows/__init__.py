"""A Django app whose agent hands over to workflows."""

PACKED = "packed"
CLOSED = "closed"
"""Names of files by which a test lets a workflow go on or fail."""
