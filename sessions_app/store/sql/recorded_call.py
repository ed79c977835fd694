"""Record of a model call, stored with the event of its answer, and the long texts to which the record refers.

Instructions and tool declarations repeat with each call: a text is stored once, under an id, for all sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RecordedCall:
    """A model call as it is stored.

    Attributes:
        texts: texts not stored yet for the session by this process, by their ids in hexadecimal.
    """

    body: str
    texts: Mapping[str, str] = field(default_factory=dict)


# The lock keeps `store/unused_texts` from deleting a text to which this statement adds a reference. All appends
# insert texts in the order of their ids, so two appends cannot deadlock.
INSERT_TEXTS = """
texts_lock AS (
    SELECT s.id AS session_id, pg_advisory_xact_lock_shared(hashtext('adk:texts')) AS taken FROM s
), texts AS (
    INSERT INTO sessions_app_requesttext (id, text)
    SELECT t.id, t.text FROM texts_lock, unnest(%(text_ids)s::uuid[], %(texts)s::text[]) AS t(id, text)
    ON CONFLICT (id) DO NOTHING
), session_texts AS (
    INSERT INTO sessions_app_sessiontext (session_id, text_id)
    SELECT texts_lock.session_id, t.id FROM texts_lock, unnest(%(text_ids)s::uuid[]) AS t(id)
    ON CONFLICT (session_id, text_id) DO NOTHING
)"""
"""Part of an append: stores new texts, and the references of the session `s` to all texts."""


def texts_parameters(call: RecordedCall | None) -> dict[str, list[str]]:
    texts = sorted(call.texts.items()) if call else []
    return {"text_ids": [name for name, _text in texts], "texts": [text for _name, text in texts]}
