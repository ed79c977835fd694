"""Error of an embedded server."""

from django.core.exceptions import ImproperlyConfigured


class EmbeddedServerError(ImproperlyConfigured):
    """An embedded server cannot be found, started or stopped; the message names the server and the remedy."""
