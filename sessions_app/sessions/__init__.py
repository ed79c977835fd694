"""Sessions of users: ownership, share links, feedback, and the list of sessions."""
