"""Values of the state of a session or a user, each with a digest to detect a concurrent change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from runtime.sessions.state import State
from sessions_app.secrets.masking import LOOK_AHEAD, beginning_of, mask_member

MAX_KEYS = 400
MAX_VALUE_LENGTH = 100_000
MAX_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class StoredValue:
    """A key and its value.

    Attributes:
        key: the key, with the prefix of its scope.
        text: the value as JSON, or its beginning.
        length: characters of the whole value.
        digest: MD5 of the value as PostgreSQL writes it; empty for a key without a value.
    """

    key: str
    text: str = ""
    length: int = 0
    digest: str = ""

    @property
    def shown(self) -> str:
        """The first characters with secrets masked."""
        shown = mask_member(self.key, beginning_of(self.text, MAX_SHOWN_CHARACTERS)) if self.text else ""
        return f"{shown}…" if self.length > MAX_SHOWN_CHARACTERS else shown

    @property
    def name(self) -> str:
        """The key without the prefix of a user's state."""
        return self.key.removeprefix(State.USER_PREFIX)

    @property
    def kind(self) -> str:
        """`text`, `number` or `truth` for a whole value without secrets that a user can edit; empty for all others."""
        if self.is_masked:
            return ""
        value = self._value
        if isinstance(value, bool):  # Before the numbers: a bool is an int.
            return "truth"
        if isinstance(value, int | float):
            return "number"
        if isinstance(value, str):
            return "text"
        return ""

    @property
    def plain_text(self) -> str:
        """The text of a value that is a text; empty for other values, and for a text that is not whole."""
        return self._value if isinstance(self._value, str) else ""

    @property
    def masked(self) -> Any:
        """A whole value with secrets masked; None for a part of a value."""
        return self._parse(mask_member(self.key, self.text))

    @property
    def _value(self) -> Any:
        return self._parse(self.text)

    def _parse(self, text: str) -> Any:
        """Return the value of a whole text; None for a part of a value, and for a key without a value."""
        if not self.is_whole:
            return None
        try:
            return json.loads(text)
        except (
            ValueError,
            RecursionError,
        ):  # PostgreSQL stores JSON that Python refuses, and a mask is no JSON.
            return None

    @property
    def is_masked(self) -> bool:
        """True if the mask hides a part of the text."""
        return bool(self.text) and mask_member(self.key, self.text) != self.text

    @property
    def is_whole(self) -> bool:
        """True if the text is the whole value."""
        return len(self.text) == self.length


def read_values(
    session_id: UUID, keys: Sequence[str] | None = None, characters: int = MAX_SHOWN_CHARACTERS + LOOK_AHEAD
) -> list[StoredValue]:
    """Return values of the state, in one query.

    Args:
        keys: the keys, including absent keys; None for the first `MAX_KEYS` of all keys.
        characters: largest number of characters of each value to read.
    """
    parameters: dict[str, Any] = {
        "session": session_id,
        "keys": keys,
        "characters": characters,
        "most": MAX_KEYS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, parameters)
        # PostgreSQL computes the digest from the whole value, of which only a part may be loaded.
        found = {row[0]: StoredValue(*row) for row in cursor.fetchall()}
    if keys is None:
        return list(found.values())
    return [found.get(key, StoredValue(key)) for key in keys]


def read_user_values(
    user: Any, characters: int, *, app_name: str | None = None, keys: Sequence[str] | None = None
) -> dict[str, list[StoredValue]]:
    """Return the values of a user's state by app, in one query. Keys that are null are left out.

    Args:
        characters: largest number of characters of each value to read.
        app_name: name of the app; None for all apps.
        keys: the keys, with the prefix of the scope; None for the first `MAX_KEYS` keys of these apps together.
    """
    parameters: dict[str, Any] = {
        "user": user,
        "app": app_name,
        "keys": keys,
        "characters": characters,
        "most": MAX_KEYS,
    }
    values: dict[str, list[StoredValue]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_READ_OF_USER, parameters)
        for name, *columns in cursor.fetchall():
            values.setdefault(name, []).append(StoredValue(*columns))
    return values


_READ_OF_USER = """
WITH scoped AS (
    SELECT u.app_name, 'user:' || w.key AS key, w.value FROM sessions_app_userstate u, jsonb_each(u.state) w
    WHERE u.user_id = %(user)s AND w.value <> 'null' AND (%(app)s::text IS NULL OR u.app_name = %(app)s)
)
SELECT app_name, key, left(value::text, %(characters)s), length(value::text), md5(value::text) FROM scoped
WHERE %(keys)s::text[] IS NULL OR key = ANY(%(keys)s::text[])
ORDER BY app_name, key COLLATE "C" LIMIT %(most)s
"""
_READ = """
WITH scoped AS (
    SELECT w.key, w.value FROM sessions_app_session s, jsonb_each(s.state) w WHERE s.id = %(session)s
    UNION ALL
    SELECT 'user:' || w.key, w.value FROM sessions_app_session s
    JOIN sessions_app_userstate u ON u.app_name = s.app_name AND u.user_id = s.user_id, jsonb_each(u.state) w
    WHERE s.id = %(session)s
    UNION ALL
    SELECT 'app:' || w.key, w.value FROM sessions_app_session s
    JOIN sessions_app_appstate a ON a.app_name = s.app_name, jsonb_each(a.state) w
    WHERE s.id = %(session)s
)
SELECT key, left(value::text, %(characters)s), length(value::text), md5(value::text) FROM scoped
WHERE %(keys)s::text[] IS NULL OR key = ANY(%(keys)s::text[])
ORDER BY key COLLATE "C" LIMIT %(most)s
"""
