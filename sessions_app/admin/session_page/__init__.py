"""The audit page of one session: its events, turns and calls, the state at any of them, and its files."""
