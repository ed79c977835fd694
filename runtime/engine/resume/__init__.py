"""Continuing an interrupted invocation from its events."""
