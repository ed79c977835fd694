"""Parts that all addresses for programs share: callers, their streams, and responses to requests that fail."""
