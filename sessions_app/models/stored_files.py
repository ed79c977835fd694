"""Files of rows in Django's storage: errors of the storage, and deletion."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models.fields.files import FieldFile

from sessions_app.errors import FilesUnavailableError


@contextmanager
def available_files() -> Iterator[None]:
    """Raise `FilesUnavailableError` for errors of the storage, except for that of a missing file."""
    try:
        yield
    except (FileNotFoundError, FilesUnavailableError):
        raise
    except OSError as error:
        raise FilesUnavailableError from error


def delete_after_commit(file: FieldFile, using: str) -> None:
    """Delete the bytes of a row that is being deleted, after the commit: a rollback brings back the row only."""

    # No `partial`, because Django logs an error with the name of the function.
    def delete_file() -> None:
        file.delete(save=False)

    # Robust: an error of the storage must not keep other callbacks from running; the housekeeping deletes files
    # without a row.
    transaction.on_commit(delete_file, using=using, robust=True)
