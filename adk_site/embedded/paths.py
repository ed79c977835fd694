"""Paths of the embedded servers: data, sockets and programs."""

import hashlib
import os
import stat
from importlib.util import find_spec
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def data_dir() -> Path:
    """Return the data directory of a checkout: `ADK_DATA_DIR`, or `.data` in the checkout."""
    return Path(os.environ.get("ADK_DATA_DIR") or CHECKOUT / ".data").resolve()


def socket_dir(data: Path) -> Path:
    """Return the directory for the Unix sockets of the servers of `data`."""
    # Not inside `data`: the path of a Unix socket is limited to about a hundred bytes.
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path("/tmp") / f"adk-{os.getuid()}-{name}"  # noqa: S108 (made by make_private_dir)


def make_private_dir(path: Path) -> None:
    """Create the directory if it does not exist, accessible only to its owner.

    Raises:
        EmbeddedServerError: the directory belongs to another user, or is accessible to others.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # `/tmp` is writable by all: another user may have created the directory, or a link in its place.
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode != stat.S_IFDIR | 0o700:
        raise EmbeddedServerError(f"{path} must be a directory of yours with mode 0700: remove it.")


def wheel_dir(package: str) -> Path | None:
    """Return the directory of an installed wheel, without importing it; None if it is not installed."""
    spec = find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


class EmbeddedServerError(ImproperlyConfigured):
    """An embedded server cannot be found, started or stopped; the message names the server and the remedy."""
