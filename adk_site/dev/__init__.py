"""`make run` and `make stop`: the whole site in one terminal, for development."""
