"""List of a person's sessions: its pages, the search in it, and the changes that a person makes to it."""
