"""`publish_committed`: one frame for all watchers, and no failure reaches the committer."""

from __future__ import annotations

import json
from unittest.mock import Mock
from uuid import uuid4

import pytest

from runtime.events import Event
from sessions_app.base.codec import event_to_json
from sessions_app.chat.browser_encoder import BrowserEncoder
from sessions_app.live.hub import Hub
from sessions_app.live.publish import publish_committed
from sessions_app.rendering import event_html
from sessions_app.rendering.session_view import SITE_READER
from sessions_app.store.session_service import CommittedEvent
from tests.fakes import text_content

EVENT = Event(id="event", author="agent", invocation_id="e-1", content=text_content("Hello."))
COMMITTED = CommittedEvent(uuid4(), "help_desk", 7, EVENT, event_to_json(EVENT), jobs=())


@pytest.fixture
def relay() -> Mock:
    return Mock()


@pytest.fixture
def hub(relay: Mock) -> Hub:
    return Hub(relay)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The renderer of events, which keeps its calls."""
    event_html.cache.clear()
    renderer = Mock(return_value="<p>Hello.</p>")
    monkeypatch.setattr(event_html, "render_event", renderer)
    return renderer


async def test_an_event_is_rendered_once_for_all_who_read_alike(
    hub: Hub, relay: Mock, rendered: Mock
) -> None:
    tabs = [Mock(), Mock()]
    for tab in tabs:
        hub.watch(COMMITTED.session_id, tab)
    publish_committed(hub, COMMITTED, rewound_from=3)
    frames = []
    for tab in tabs:
        encoder = BrowserEncoder(COMMITTED.session_id, COMMITTED.app_name, SITE_READER)
        frames.append(await encoder.event_frame(tab.on_event.call_args.args[0]))
    assert frames[0] is frames[1]
    assert json.loads(frames[0]) == {
        "v": 1,
        "type": "event",
        "seq": 7,
        "event": json.loads(COMMITTED.body),
        "html": "<p>Hello.</p>",
        "rewound_from": 3,
    }
    rendered.assert_called_once()
    relay.send_log_position.assert_called_once_with(COMMITTED.session_id, 7)


def test_an_event_that_nobody_watches_is_not_rendered(hub: Hub, relay: Mock, rendered: Mock) -> None:
    publish_committed(hub, COMMITTED)
    rendered.assert_not_called()
    relay.send_log_position.assert_called_once_with(COMMITTED.session_id, 7)


def test_a_failure_is_logged_and_other_processes_still_learn_of_the_event(
    hub: Hub, relay: Mock, caplog: pytest.LogCaptureFixture
) -> None:
    hub.watch(COMMITTED.session_id, Mock(**{"on_event.side_effect": ValueError("broken tab")}))
    publish_committed(hub, COMMITTED)
    assert f"Event 7 of session {COMMITTED.session_id} was not shown live" in caplog.text
    relay.send_log_position.assert_called_once_with(COMMITTED.session_id, 7)
