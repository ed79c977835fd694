"""Errors of `make run`."""


class StackError(Exception):
    """The site cannot start or keep running; the message names the cause and the remedy."""
