"""`make run` and `make stop`: run all processes of the site in one terminal, for development."""
