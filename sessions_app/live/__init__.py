"""Live view of a session: committed events, growing text and notices for open tabs. PostgreSQL stays the truth."""
