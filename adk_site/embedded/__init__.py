"""PostgreSQL and Redis from their PyPI wheels, for whoever has set no URL of a server of their own.

The URLs depend on the data directory alone, so settings can name a server without starting it.
Starting, joining and stopping is `lifetime.running_servers`.
"""
