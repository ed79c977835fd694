"""Things that the demo model looks up by a script: likes that a person has told it, passages of the handbook, tasks."""

import json
import re
from datetime import datetime
from typing import Any

TELLS = r"I (?:like|prefer) [^.!?\n]{1,200}"
TOLD = re.compile(TELLS, re.IGNORECASE)
LINE = re.compile(r"\[(?P<event>\d+)\] user: (?P<text>[^\n]*?)[.!]?", re.IGNORECASE)


def facts_in(request: str) -> str:
    """Return the answer to a request of `sessions_app.remembering.fact_request`."""
    facts: list[dict[str, Any]] = []
    for line in request.splitlines():
        told = LINE.fullmatch(line.strip())
        if told and TOLD.fullmatch(told["text"]):
            facts.append(
                {"text": told["text"], "event": int(told["event"]), "replaces": [], "is_special": False}
            )
    return json.dumps({"facts": facts})


def told_in(result: dict[str, Any]) -> str:
    """Return the answer to a result of `load_memory`."""
    texts = []
    for memory in result["result"]["memories"]:
        texts += [part.get("text", "") for part in memory["content"].get("parts", [])]
    told = [text for text in texts if TOLD.fullmatch(text)]
    if not told:
        return "I do not know that. Tell me, such as: I like green tea."
    return f"You told me: {'; '.join(told)}."


def passage_in(result: dict[str, Any]) -> str:
    """Return the answer to a result of `search_knowledge`. The site lists the sources below it."""
    if not result["passages"]:
        return "The handbook says nothing about that."
    return f"The handbook says:\n\n> {result['passages'][0]['text']}"


def scheduled_in(tasks: list[dict[str, Any]]) -> str:
    """Return the answer to a result of `schedule_task` or `list_scheduled_tasks`."""
    lines = []
    for task in tasks:
        next_at = datetime.fromisoformat(task["next_at"])
        lines.append(f"- {task['id']}: {task['task']}, on {next_at:%d %B at %H:%M}, {task['how_often']}")
    return "\n".join(["Scheduled:\n", *lines]) if lines else "Nothing is scheduled."
