"""Frames of stored events for tabs that catch up. Tabs that wait to send the same frame share one copy of it."""

from __future__ import annotations

import json
from weakref import WeakValueDictionary

from sessions_app.base.codec import event_to_show
from sessions_app.chat.server_frames import EventFrame
from sessions_app.history.rewinds import rewound_from
from sessions_app.rendering.event_html import event_html
from sessions_app.rendering.session_view import SessionView


class _Frame(str):
    """Text that can be referenced weakly."""


_waiting: WeakValueDictionary[tuple[SessionView, int], _Frame] = WeakValueDictionary()


async def event_frame(view: SessionView, seq: int, body: str) -> str:
    """Return the frame of an event, which never changes.

    Args:
        body: JSON of the event.
    """
    frame = _waiting.get((view, seq))
    if frame is None:
        event = event_to_show(json.loads(body))
        is_rewind = event.actions.rewind_before_invocation_id is not None
        rewound = await rewound_from(view.session_id, seq) if is_rewind else None
        html = await event_html(view, seq, event, body)
        # Another tab may have made the frame meanwhile.
        frame = _waiting.get((view, seq)) or _Frame(EventFrame(seq, body, html, rewound).json())
        _waiting[view, seq] = frame
    return frame
