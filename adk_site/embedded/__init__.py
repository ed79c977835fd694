"""PostgreSQL and Valkey from PyPI wheels, started when the environment has no URL of a server.

The URLs depend on the data directory alone, so settings can name a server without starting it.
Starting, joining and stopping is `lifetime.running_servers`.
"""
