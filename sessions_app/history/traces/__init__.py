"""Traces: the spans of an invocation, computed from its stored events."""
