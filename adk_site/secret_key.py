"""The secret key of a development checkout."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.core.management.utils import get_random_secret_key


def kept_secret_key(path: Path) -> str:
    """The key in the file at `path`; at the first call it is made there, readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent) as complete:
            complete.write(get_random_secret_key())
            complete.flush()
            # Two processes may come here at once: the link is made by one of them, with all of its key.
            with suppress(FileExistsError):
                os.link(complete.name, path)
    return path.read_text()
