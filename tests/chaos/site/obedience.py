"""Rules of the obedient models: the last part of a request decides the answer, streamed slowly enough to be killed."""

from __future__ import annotations

from typing import Any

from runtime import types

WORDS = 12
PAUSE_SECONDS = 0.03
"""Pause after each streamed word."""


def call_for(part: types.Part) -> types.FunctionCall | None:
    """Return the call that the part's first word asks for; None when the answer is a text."""
    verb, _, what = (part.text or "").partition(" ")
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "note": ("note", {"what": what}),
        "keep": ("keep", {"what": what}),
        "work": ("work", {"what": what}),
        "ask": ("work_if_wanted", {"what": what}),
        "delete": ("delete", {"what": what}),
        "forget": ("forget", {"what": what}),
        "resist": ("resist", {"what": what}),
        "remind": (
            "schedule_task",
            {"task": f"keep {what}-reminder", "run_at": "in 1 second", "every": "1 second", "most_runs": 2},
        ),
    }
    if verb not in calls:
        return None
    name, args = calls[verb]
    return types.FunctionCall(name=name, args=args)


def words_for(part: types.Part) -> list[str]:
    """Return the answer to a message or a function response, in pieces."""
    if part.function_response is not None:
        answer = f"result of {part.function_response.name} "
    else:
        answer = f"said {(part.text or '').partition(' ')[2]} "
    return [answer, *(f"word{number} " for number in range(WORDS))]
