"""Public path; defined in `runtime.errors`."""

from runtime.errors import SessionNotFoundError

__all__ = ["SessionNotFoundError"]
