"""Trace of an invocation: its waterfall, and each model call with its exact request."""
