"""`make run` and `make stop`: run all processes of the site in one terminal, for development.

`make run` restarts itself with a mark in its environment, takes the lock of the data directory, starts or joins the
embedded servers, migrates the database, and forks the web process, two workers and beat. If one of them ends, all are
stopped. The next `make run`, or `make stop`, finds processes left behind by their mark.
"""
