"""Shared parts of all addresses for programs: callers, connections, and responses to failed requests."""
