"""PostgreSQL and Valkey from PyPI wheels, started if the environment has no URL of a server.

The URLs depend only on the data directory, so settings can name a server without starting it.
`lifetime.running_servers` starts, joins and stops the servers.
"""
