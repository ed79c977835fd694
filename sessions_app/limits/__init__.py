"""Limits on what a person and a client address may do, counted by all processes together in Redis."""
