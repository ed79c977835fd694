"""List of a user's sessions: its pages, its search, and the user's changes to it."""
