"""Proofs that a signed root has an event."""

import json
from bisect import bisect_left
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sessions_app.history.evidence.hash_tree import HashTree
from sessions_app.history.evidence.root_file import (
    HEAD,
    last_root,
    parse_root,
    root_name,
    root_numbers,
    storage_at,
)
from sessions_app.models import Event


class Proofs:
    """Proofs that the roots of a place have an event, each without the other rows of its root.

    Attributes:
        covered: greatest key of an event in the roots; 0 without a root.

    Raises:
        InvalidInputError: the newest root does not have the signature of the key.
    """

    def __init__(self, place: str, key: Ed25519PublicKey) -> None:
        self._storage = storage_at(place)
        self._key = key
        self._numbers = root_numbers(self._storage)
        newest = last_root(self._storage, key)
        self.covered = newest.upto["event"] if newest else 0

    def of(self, events: Iterable[Event]) -> dict[int, dict[str, Any]]:
        """Return the proofs of events that the roots cover, as JSON by primary key. Each root is read once.

        A proof has the first line of the root (`head`), the signature of this line, and the way from the line of the
        event (`row`) to the hash in the first line, by `hash_tree`. An event whose root is older than such
        proofs has none.
        """
        proofs: dict[int, dict[str, Any]] = {}
        in_order = sorted(events, key=lambda event: event.pk)
        for place, covered in groupby(in_order, key=self._place_of):
            proofs |= self._proofs_by(self._numbers[place], covered)
        return proofs

    def _place_of(self, event: Event) -> int:
        return bisect_left(self._numbers, event.pk, key=self._last_event_of)

    def _proofs_by(self, number: int, events: Iterable[Event]) -> dict[int, dict[str, Any]]:
        with self._storage.open(root_name(number)) as file:
            content = file.read()
        root = parse_root(content, self._key, root_name(number))
        if not root.tree:
            return {}
        head, *lines = content.decode().splitlines()
        signature = lines[-2].removeprefix(HEAD.decode())
        rows = [f"{row} {value}" for row, value in root.rows.items()]
        places = {row: place for place, row in enumerate(root.rows)}
        tree = HashTree(rows)
        proofs = {}
        for event in events:
            place = places.get(f"event {event.session_id} {event.seq}")
            if place is not None:
                path = tree.path_to(place)
                proofs[event.pk] = {"head": head, "signature": signature, "row": rows[place], "path": path}
        return proofs

    def _last_event_of(self, number: int) -> int:
        with self._storage.open(root_name(number)) as file:
            return int(json.loads(file.readline())["upto"]["event"])
