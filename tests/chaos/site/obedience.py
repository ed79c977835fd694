"""What the models of the chaos suite do with the last thing that was said; slowly enough to be killed in the middle."""

from __future__ import annotations

from typing import Any

from runtime import types

WORDS = 12
PAUSE_SECONDS = 0.03
"""After each word."""


def call_for(part: types.Part) -> types.FunctionCall | None:
    """The call that is asked for; None when there is something to say instead."""
    verb, _, what = (part.text or "").partition(" ")
    known: dict[str, tuple[str, dict[str, Any]]] = {
        "note": ("note", {"what": what}),
        "work": ("work", {"what": what}),
        "ask": ("work_if_wanted", {"what": what}),
        "delete": ("delete", {"what": what}),
        "remind": (
            "schedule_task",
            {"task": f"say {what}-reminder", "run_at": "in 1 second", "every": "1 second", "most_runs": 2},
        ),
    }
    if verb not in known:
        return None
    name, args = known[verb]
    return types.FunctionCall(name=name, args=args)


def words_for(part: types.Part) -> list[str]:
    """The pieces of the answer."""
    if part.function_response is not None:
        answer = f"result of {part.function_response.name} "
    else:
        answer = f"said {(part.text or '').partition(' ')[2]} "
    return [answer, *(f"word{number} " for number in range(WORDS))]
