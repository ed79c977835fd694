"""Record of a model call that is stored with the event of its answer, and the texts that it refers to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RecordedCall:
    """A model call as it is stored.

    Attributes:
        body: the record as JSON.
        texts: texts by their ids in hexadecimal, as far as this process has not stored them for the session.
    """

    body: str
    texts: Mapping[str, str] = field(default_factory=dict)


# The lock keeps `services/unused_texts` from deleting a text to which this adds a reference.
# Texts are inserted in the order of their ids.
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
"""A part of an append: stores texts that no session has stored yet, and that the session `s` refers to them."""


def texts_parameters(call: RecordedCall | None) -> dict[str, list[str]]:
    """Return the parameters of `INSERT_TEXTS`."""
    texts = sorted(call.texts.items()) if call else []
    return {"text_ids": [name for name, _text in texts], "texts": [text for _name, text in texts]}
