"""Secret key of a development checkout."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.core.management.utils import get_random_secret_key


def load_or_create_secret_key(path: Path) -> str:
    """Return the key stored at `path`; the first call creates the file, readable only by its owner."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent) as complete:
            complete.write(get_random_secret_key())
            complete.flush()
            # Several processes may create the key concurrently. A link is atomic: one succeeds, and its file is
            # complete.
            with suppress(FileExistsError):
                os.link(complete.name, path)
    return path.read_text()
