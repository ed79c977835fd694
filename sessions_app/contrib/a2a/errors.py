"""Errors of use cases as A2A names them; unexpected ones are logged, and the program gets a reference."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from a2a.utils.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from runtime.errors import AdkError
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.process.pool import UNAVAILABLE

logger = logging.getLogger(__name__)
_KINDS: tuple[tuple[type[AdkError], type[A2AError]], ...] = (
    (NotFoundError, TaskNotFoundError),
    (InvalidInputError, InvalidParamsError),
    (ConflictError, UnsupportedOperationError),
)


@contextmanager
def as_a2a_errors() -> Iterator[None]:
    """Raise an `A2AError` in place of the error of a use case."""
    try:
        yield
    except A2AError:
        raise
    except AdkError as error:
        kind = next((kind for own, kind in _KINDS if isinstance(error, own)), InvalidRequestError)
        raise kind(str(error)) from error
    except UNAVAILABLE as error:
        raise InternalError("The database does not answer. Try again.") from error
    except Exception as error:
        reference = uuid4().hex[:8]
        logger.exception("A request of A2A failed (reference %s)", reference)
        raise InternalError(f"Something went wrong (reference {reference}). Try again.") from error
