"""Resume: continuing an interrupted invocation from its events."""
