"""HTML of stored events for pages and sockets.

Events never change, so their HTML is cached by view. Short events are rendered on the event loop. Events that may
take long, by an estimate from their JSON, are rendered in a thread, so other connections are served in the meantime.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock

from runtime.events import Event as RuntimeEvent
from runtime.valid_text import storable
from sessions_app.conf import conf
from sessions_app.models import ToolJob
from sessions_app.rendering.html import NO_JOBS, render_event
from sessions_app.rendering.session_view import SessionView

MAX_INLINE_CHARACTERS = 32_768
MAX_INLINE_MARKS = 400
"""Above either limit a text may take more than 30 ms to render."""
# The keys of arguments and state count as well: each becomes an element. A line end in JSON counts by its backslash.
MARKS = ("[", "<", "{", "\n", "://", '":', "|", "$", *"*_`~&!\\#")
"""Texts that make rendering slow: marks of Markdown and of JSON."""

# One thread: more would compete with the event loop for the interpreter, and finish no sooner.
_renderer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="render")


class HtmlCache:
    """Least recently used cache of the HTML of events, by view and `seq`, within `cached_html_bytes`."""

    def __init__(self) -> None:
        self._html: OrderedDict[tuple[SessionView, int], str] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()  # The event loop and the rendering thread use the cache.

    def get(self, view: SessionView, seq: int) -> str | None:
        """Return the cached HTML of an event; None if it is not cached."""
        with self._lock:
            html = self._html.get((view, seq))
            if html is not None:
                self._html.move_to_end((view, seq))
            return html

    def keep(self, view: SessionView, seq: int, html: str) -> None:
        """Cache the HTML of an event."""
        with self._lock:
            self._bytes += _size(html) - _size(self._html.pop((view, seq), None))
            self._html[view, seq] = html
            while self._bytes > conf().cached_html_bytes:
                self._bytes -= _size(self._html.popitem(last=False)[1])

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._html.clear()
            self._bytes = 0


cache = HtmlCache()


def html_now(view: SessionView, seq: int, event: RuntimeEvent, body: str) -> str | None:
    """Return the HTML of an event, cached or rendered now; None if rendering would take long."""
    html = cache.get(view, seq)
    if html is None and not takes_long(body):
        html = _render_and_keep(view, seq, event)
    return html


async def event_html(
    view: SessionView, seq: int, event: RuntimeEvent, body: str, jobs: Mapping[str, ToolJob] = NO_JOBS
) -> str:
    """Return the HTML of an event. Other tasks may run in the meantime, unless it is cached.

    Args:
        jobs: jobs of the session by call id. HTML with the card of a job is not cached, because jobs change.
    """
    has_jobs = not jobs.keys().isdisjoint(event.long_running_tool_ids or ())
    html = None if has_jobs else cache.get(view, seq)
    if html is not None:
        return html
    if has_jobs:
        render = partial(_render, view, seq, event, jobs)
    else:
        render = partial(_render_and_keep, view, seq, event)
    if takes_long(body):
        return await asyncio.get_running_loop().run_in_executor(_renderer, render)
    html = render()
    # A page renders fifty events in a row: let other connections run between two of them.
    await asyncio.sleep(0)
    return html


def takes_long(text: str) -> bool:
    """True if rendering a text, or an event with this JSON, may block the event loop for too long."""
    # The length is checked first, because searching some megabytes for marks takes long, too.
    return len(text) > MAX_INLINE_CHARACTERS or sum(map(text.count, MARKS)) > MAX_INLINE_MARKS


def _render(view: SessionView, seq: int, event: RuntimeEvent, jobs: Mapping[str, ToolJob] = NO_JOBS) -> str:
    with view.reader.reading():
        return storable(render_event(view, seq, event, jobs))


def _render_and_keep(view: SessionView, seq: int, event: RuntimeEvent) -> str:
    html = cache.get(view, seq)  # Another tab's request may have rendered the event while this one waited.
    if html is None:
        html = _render(view, seq, event)
        cache.keep(view, seq, html)
    return html


def _size(html: str | None) -> int:
    """Return the bytes that the cache counts for a text; 0 for None."""
    # 200 for the key and the entry.
    return 0 if html is None else len(html.encode()) + 200
