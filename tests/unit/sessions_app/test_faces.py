"""Faces of agents: names, initials and pictures beside messages, and colours that everybody can read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import sessions_app
from sessions_app.agent_apps import registry
from sessions_app.agent_apps.loading.faces import Color, Face
from sessions_app.rendering.faces import face_of, signatures
from tests.unit.sessions_app.rendered import Tags, event_html

CSS = Path(sessions_app.__file__).parent / "static/sessions_app/css"
TONES = re.compile(r"(--[\w-]+|\.\w+ \{\s+--face): light-dark\((#\w{6}), (#\w{6})\)")


@pytest.fixture
def faces(monkeypatch: pytest.MonkeyPatch) -> dict[str, Face]:
    """The declared faces of the app help_desk, to change."""
    declared: dict[str, Face] = {}
    monkeypatch.setitem(registry.registry().__dict__, "faces", {"help_desk": declared})
    return declared


def test_an_agent_without_a_face_goes_by_its_name(faces: dict[str, Face]) -> None:
    html = event_html({"text": "Hello"})
    assert "Help desk" in Tags(html).text
    assert 'class="face' not in html
    assert signatures("help_desk") == signatures("no_such_app") == []
    assert face_of("no_such_app", "order_desk") == Face("Order desk")


def test_a_face_stands_beside_a_message_and_where_agents_hand_over(faces: dict[str, Face]) -> None:
    faces["help_desk"] = Face("Concierge", "teal")
    faces["orders"] = Face(picture="sessions_app/icon.svg")
    html = event_html({"text": "Hello"}, actions={"transferToAgent": "orders"})
    assert '<span class="face teal" data-initial="C" aria-hidden="true"></span>' in html
    assert "Concierge handed over to Orders" in Tags(html).text
    assert (
        html.count('<bdi><span class="face teal"') == html.count("<bdi><img") == 1
    )  # on one line with its name
    (picture,) = Tags(html).all("img")
    assert (picture["src"], picture["alt"]) == ("/static/sessions_app/icon.svg", "")


def test_questions_and_notes_name_an_agent_as_its_face_does(faces: dict[str, Face]) -> None:
    faces["help_desk"] = Face("Concierge")
    call = {"id": "c-1", "name": "adk_request_input", "args": {"message": "Which one?"}}
    asks = event_html({"functionCall": call}, longRunningToolIds=["c-1"])
    assert Tags(asks).all("form")[0]["aria-label"] == "Question from Concierge"
    withdrawn = {"adk_withdrawn_allowance": {"agent": "help_desk", "tool": "pay"}}
    html = event_html(author="user", customMetadata=withdrawn)
    assert "Concierge asks you again before each “Pay”." in Tags(html).text


def test_what_an_author_writes_is_text(faces: dict[str, Face]) -> None:
    faces["help_desk"] = Face('<b>"&', picture='" onerror="alert(1)')
    html = event_html({"text": "Hello"})
    assert "<b>" not in html
    assert [sorted(picture) for picture in Tags(html).all("img")] == [["alt", "class", "src"]]


def test_an_initial_stands_for_a_picture_that_is_missing(
    faces: dict[str, Face], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str) -> str:
        raise ValueError(f"Missing staticfiles manifest entry for {path!r}")

    monkeypatch.setattr("sessions_app.rendering.faces.static", fail)
    faces["help_desk"] = Face(picture="gone.svg", color="pink")
    assert '<span class="face pink" data-initial="H"' in event_html({"text": "Hello"})


def test_every_colour_can_be_read_in_both_themes() -> None:
    css = (CSS / "base.css").read_text() + (CSS / "event.css").read_text()
    tones = {name.split()[0]: (light, dark) for name, light, dark in TONES.findall(css)}
    for color in filter(None, get_args(Color)):
        for theme in range(2):
            tone = tones[f".{color}"][theme]
            assert contrast(tone, tones["--on-accent"][theme]) >= 4.5, (color, theme)  # the initial
            assert contrast(tone, tones["--paper"][theme]) >= 3, (color, theme)  # the shape


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2."""
    darker, lighter = sorted(map(_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
