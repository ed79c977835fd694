"""Why the site does not start."""


class StackError(Exception):
    """The site cannot start here and now; the message names the cause and the remedy."""
