"""Queries on a stored event log: rewinds, state changes, effective events."""
