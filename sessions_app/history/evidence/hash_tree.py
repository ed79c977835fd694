"""Hash over the lines of a list, by which one line can be proved without the others (a Merkle tree, as in RFC 6962).

A line has the hash SHA-256 of a byte 0 and the line, two neighbours that of a byte 1 and their hashes, and so on up to
the hash over all lines. A last hash without a neighbour goes up as it is.
"""

import hashlib
from collections.abc import Sequence


class HashTree:
    """The tree over the lines of a list.

    Attributes:
        root: hash over all lines in hexadecimal digits; that of nothing for an empty list.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._levels = [[_leaf(line) for line in lines]]
        while len(self._levels[-1]) > 1:
            self._levels.append(_parents(self._levels[-1]))
        top = self._levels[-1]
        self.root = top[0].hex() if top else hashlib.sha256().hexdigest()

    def path_to(self, index: int) -> list[str]:
        """Return the neighbours on the way from a line up: `L` or `R` for their side, and their hash."""
        path = []
        for level in self._levels[:-1]:
            neighbour = index ^ 1
            if neighbour < len(level):
                side = "L" if neighbour < index else "R"
                path.append(side + level[neighbour].hex())
            index //= 2
        return path


def tree_above(line: str, path: Sequence[str]) -> str:
    """Return the hash over all lines, computed from one line and its path.

    Raises:
        ValueError: the path has something other than sides and hashes.
    """
    hashed = _leaf(line)
    for step in path:
        neighbour = bytes.fromhex(step[1:])
        hashed = _parent(neighbour, hashed) if step.startswith("L") else _parent(hashed, neighbour)
    return hashed.hex()


def _leaf(line: str) -> bytes:
    return hashlib.sha256(b"\0" + line.encode()).digest()


def _parent(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def _parents(level: Sequence[bytes]) -> list[bytes]:
    parents = [_parent(level[left], level[left + 1]) for left in range(0, len(level) - 1, 2)]
    if len(level) % 2:
        parents.append(level[-1])
    return parents
