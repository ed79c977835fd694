"""Errors as users and programs get them: an exception's own text may name hosts or secrets.

    AdkError                  itself: its sentence is for users and programs
    PostgreSQL is away        UnavailableError
    any other exception       UnexpectedError, with the reference of its traceback in the log

`error_code` and `http_status` of `sessions_app/errors.py` belong to all of them. Each edge (frames, problem details,
A2A) only puts code, sentence and status into its own form.
"""

import logging
from uuid import uuid4

from runtime.errors import AdkError
from sessions_app.errors import UnavailableError, UnexpectedError
from sessions_app.process.pool import UNAVAILABLE

logger = logging.getLogger(__name__)


def public_error(error: Exception, subject: str) -> AdkError:
    """Return the error for a user or a program.

    Args:
        subject: see `log_unexpected`.
    """
    if isinstance(error, AdkError):
        return error
    if isinstance(error, UNAVAILABLE):
        return UnavailableError()
    return log_unexpected(error, subject)


def log_unexpected(error: Exception, subject: str) -> UnexpectedError:
    """Log the error under a new reference, and return the error for a user or a program.

    Args:
        subject: name in the log of the work that failed, such as "A request of the API".
    """
    reference = uuid4().hex[:8]
    logger.error("%s failed (reference %s)", subject, reference, exc_info=error)
    return UnexpectedError(reference)
