"""Event frames: the event as it is stored, but for the state of the app and secrets of credentials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.chat.server_frames import EventFrame


def event_in_frame(body: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(EventFrame(1, json.dumps(body), "").json())["event"]
    return event


def test_a_frame_leaves_out_the_state_of_the_app() -> None:
    delta = {"app:secret": "everybody's", "user:name": "Ada", "order": 7}
    body = {"id": "e", "actions": {"stateDelta": delta, "escalate": True}}
    shown = {"stateDelta": {"user:name": "Ada", "order": 7}, "escalate": True}
    assert event_in_frame(body) == {"id": "e", "actions": shown}


@pytest.mark.parametrize(
    "odd", [{}, {"actions": None}, {"actions": []}, {"actions": {}}, {"actions": {"stateDelta": None}}]
)
def test_an_event_of_odd_shape_is_sent_as_it_is(odd: dict[str, Any]) -> None:
    body = {"id": "app:x", "app:y": 1, **odd}
    assert event_in_frame(body) == body


def test_a_frame_masks_the_secrets_of_credentials() -> None:
    credential = {"authType": "oauth2", "oauth2": {"clientId": "site", "accessToken": "t0ken"}}
    shown = event_in_frame({"id": "e", "actions": {"stateDelta": {"token": credential, "order": 7}}})
    assert shown["actions"]["stateDelta"]["order"] == 7
    assert "t0ken" not in json.dumps(shown)
