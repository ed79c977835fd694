"""Public path; defined in `runtime.errors`."""

from runtime.errors import AlreadyExistsError

__all__ = ["AlreadyExistsError"]
