"""Questions about a stored event log: rewinds, state changes, events that still count."""
