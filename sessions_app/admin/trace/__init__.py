"""Trace of an invocation: its waterfall, and each model call as it was sent."""
