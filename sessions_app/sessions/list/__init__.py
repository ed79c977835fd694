"""List of a person's sessions: its pages, its search, and the changes that the person makes to it."""
