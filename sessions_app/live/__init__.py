"""What watchers of a session see at once: committed events, text as it grows, notices. A hint, never the truth."""
