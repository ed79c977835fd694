"""Signed roots: files that list the hash of each event, and of each record of who did what, since the root before.

    {"number": 7, "at": "…", "previous": "SHA-256 of the file of root 6", "after": {"event": 5000, …},
     "upto": {"event": 5120, …}, "tree": "hash over the lines of the rows, see hash_tree"}
    event <session> <seq> <hash>
    staffact <id> <hash> <subject>
    …
    head <Ed25519 over the first line, in base64>
    signature <Ed25519 over all lines above, in base64>

The first line with its signature proves a row to somebody who may not see the other rows: see `proofs`. The size of a
root depends on what was added since the root before, however many sessions there are, and the roots are a chain, too.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from django.conf import settings
from django.core.files.storage import FileSystemStorage, Storage, storages

from sessions_app.errors import InvalidInputError

_NAME = re.compile(r"root-(\d{8})\.txt")
SIGNATURE = b"signature "
HEAD = b"head "


@dataclass(frozen=True)
class Root:
    """A signed root.

    Attributes:
        after, upto: the root covers the rows with keys greater than `after` and not greater than `upto`, by table.
        previous: SHA-256 of the root before; empty for the first one.
        rows: hashes, with the subject if there is one, by name of the row.
        tree: hash over the lines of the rows; empty in roots from before it.
    """

    number: int
    at: str
    previous: str
    after: Mapping[str, int]
    upto: Mapping[str, int]
    rows: Mapping[str, str]
    sha256: str
    tree: str = ""

    def __str__(self) -> str:
        return f"root {self.number} of {self.at}"


def storage_at(name: str) -> Storage:
    """Return the storage with this alias in `STORAGES`, or of the directory with this path."""
    if name in settings.STORAGES:
        return storages[name]
    return FileSystemStorage(location=name)


def roots_at(place: str, key: Ed25519PublicKey) -> Iterator[Root]:
    """Yield the roots of a place in their order, each checked against the one before; of a file, its root.

    Raises:
        InvalidInputError: there is no root, or one is missing or forged.
    """
    if Path(place).is_file():
        yield parse_root(Path(place).read_bytes(), key, place)
        return
    storage = storage_at(place)
    expected = (1, "")
    for number in root_numbers(storage):
        root = read_root(storage, number, key)
        if (root.number, root.previous) != expected:
            raise InvalidInputError(
                f"Root {number} does not follow root {expected[0] - 1}: one is missing or forged."
            )
        yield root
        expected = (root.number + 1, root.sha256)
    if expected[0] == 1:
        raise InvalidInputError(f"There is no signed root at '{place}'.")


def root_name(number: int) -> str:
    return f"root-{number:08}.txt"


def root_numbers(storage: Storage) -> list[int]:
    try:
        _, files = storage.listdir("")
    except FileNotFoundError:  # no root was written yet
        return []
    return sorted(int(match[1]) for match in map(_NAME.fullmatch, files) if match)


def last_root(storage: Storage, key: Ed25519PublicKey) -> Root | None:
    numbers = root_numbers(storage)
    return read_root(storage, numbers[-1], key) if numbers else None


def read_root(storage: Storage, number: int, key: Ed25519PublicKey) -> Root:
    with storage.open(root_name(number)) as file:
        root = parse_root(file.read(), key, root_name(number))
    if root.number != number:
        raise InvalidInputError(f"'{root_name(number)}' has root {root.number}: it was moved.")
    return root


def parse_root(data: bytes, key: Ed25519PublicKey, name: str) -> Root:
    content, _, signature = data.rpartition(SIGNATURE)
    try:
        key.verify(base64.b64decode(signature), content)
    except (InvalidSignature, ValueError) as error:
        raise InvalidInputError(f"'{name}' does not have the signature of this key.") from error
    first, *lines = content.decode().splitlines()
    if lines and lines[-1].startswith(HEAD.decode()):
        lines.pop()
    rows: dict[str, str] = {}
    for line in lines:
        words = 3 if line.startswith("event ") else 2
        parts = line.split(" ", words)
        rows[" ".join(parts[:words])] = parts[words]
    return Root(**json.loads(first), rows=rows, sha256=hashlib.sha256(data).hexdigest())


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a PEM file.

    Raises:
        InvalidInputError: the file has no Ed25519 key.
    """
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInputError(
            f"'{path}' has no Ed25519 key: make one with `openssl genpkey -algorithm ed25519`."
        )
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return the public key in a PEM file.

    Raises:
        InvalidInputError: the file has no public Ed25519 key.
    """
    key = load_pem_public_key(path.read_bytes())
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInputError(f"'{path}' has no public Ed25519 key: make one with `openssl pkey -pubout`.")
    return key
