"""Error of an embedded server: one sentence that says what to do."""

from django.core.exceptions import ImproperlyConfigured


class EmbeddedServerError(ImproperlyConfigured):
    """An embedded server cannot be found, started or stopped; the message names it and the remedy."""
