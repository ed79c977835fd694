"""Outcome of a program, normalised so that two packages can be compared.

Ids and times are left out or numbered. Sentences that a package writes itself, such as the system instruction on
transfers, are reduced to the program's words in them: texts in «…» and names of agents.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import Any

from pydantic import BaseModel

from tests.side_by_side.schemas import OWN_TEXT, comparable_schema

Json = dict[str, Any]

EVENT_FIELDS = (
    "author",
    "branch",
    "content",
    "partial",
    "turn_complete",
    "interrupted",
    "error_code",
    "finish_reason",
    "custom_metadata",
    "usage_metadata",
    "grounding_metadata",
    "long_running_tool_ids",
    "actions",
)
ACTIONS = (
    "skip_summarization",
    "state_delta",
    "artifact_delta",
    "transfer_to_agent",
    "escalate",
    "requested_auth_configs",
    "requested_tool_confirmations",
    "end_of_agent",
    "agent_state",
    "rewind_before_invocation_id",
    "compaction",
)
_FRAMEWORK_TEXTS = ("error", "message", "status", "hint", "reflection_guidance")
"""Keys whose values are sentences of a package, unless they are one word or in «…»."""
CONFIG = (
    "labels",
    "response_schema",
    "response_json_schema",
    "response_mime_type",
    "temperature",
    "max_output_tokens",
    "stop_sequences",
    "thinking_config",
    "tool_config",
)
_GENERATED_ID = re.compile(r"(?:adk-|e-)?[0-9a-f]{8}-[0-9a-f-]{27}")


class Outcome:
    """Record of one program's run."""

    def __init__(self) -> None:
        self.session_ids: list[str] = []
        self.notes: list[Json] = []
        self.is_ordered = True
        self._events: list[Json] = []
        self._shown: dict[str, Json] = {}
        self._requests: list[Json] = []
        self._last_requests: dict[str, Json] = {}
        self._sessions: Json = {}
        self._artifacts: Json = {}
        self._names: set[str] = set()
        self._texts: set[str] = set()
        self._words: set[str] = set()

    def add_session(self, session_id: str) -> None:
        self.session_ids.append(session_id)

    def add_names(self, agent: Any) -> None:
        """Remember the names of an agent and all below it."""
        self._names.add(agent.name)
        for child in agent.sub_agents:
            self.add_names(child)

    def add_message(self, content: Any) -> None:
        """Remember the texts of a message."""
        self._event_content(content)

    def add_event(self, event: Any) -> None:
        fields = self._event(event)
        self._events.append(fields)
        if not event.partial:
            self._shown[event.id] = fields

    def add_exception(self, error: Exception) -> None:
        """Record the class by which code that knows neither package can catch the exception."""
        known = [
            cls for cls in type(error).__mro__ if cls.__module__.split(".")[0] not in ("runtime", "google")
        ]
        self._events.append({"raised": known[0].__name__})

    def add_request(self, request: Any, *, is_streamed: bool) -> None:
        config = request.config
        fields = {
            "contents": [
                content for given in request.contents if any((content := self._content(given)).values())
            ],
            "instruction": self._instruction(config.system_instruction),
            "tools": [tool for given in config.tools or [] for tool in self._tools(given)],
            "streamed": is_streamed,
        }
        for name in CONFIG:
            fields[name] = self._plain(getattr(config, name, None))
        if isinstance(fields["response_schema"], dict):
            fields["response_schema"] = comparable_schema(fields["response_schema"])
        self._requests.append(self._new_since_last_request(_without_empty(fields)))

    def _new_since_last_request(self, fields: Json) -> Json:
        """Leave out what the agent's last request had, too; a number stands for the contents that both begin with."""
        agent = str(fields.get("labels"))
        last = self._last_requests.get(agent, {})
        self._last_requests[agent] = fields
        before = last.get("contents", [])
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(fields["contents"], before, strict=False))
        shared = len(list(alike))
        contents = [shared, *fields["contents"][shared:]] if shared else fields["contents"]
        gone = {f"no {key}": True for key in last if key not in fields}
        changed = {key: value for key, value in fields.items() if key == "labels" or last.get(key) != value}
        return {**changed, "contents": contents, **gone}

    def add_stored(self, session: Any) -> None:
        """Record the session's state and events; `shown` stands for events that are stored as they were shown."""
        stored: list[Any] = []
        for event in session.events:
            fields = self._event(event)
            shown = self._shown.pop(event.id, None)
            if shown != fields:
                stored.append(fields)
            elif stored[-1:] != ["shown"]:
                stored.append("shown")
        self._sessions[session.id] = _without_empty({"events": stored, "state": session.state})

    def add_artifact(self, session_id: str, name: str, versions: list[int], part: Any) -> None:
        latest = part and part.model_dump(mode="json", exclude_none=True)
        self._artifacts[f"{session_id}/{name}"] = {"versions": versions, "latest": latest}

    def normalised(self) -> Json:
        """Return the outcome as JSON, with generated ids numbered in the order of their appearance."""
        if not self.is_ordered:
            invocations = list(dict.fromkeys(event.get("invocation") for event in self._events))
            self._events.sort(key=lambda e: (invocations.index(e.get("invocation")), e.get("branch", "")))
            self._requests.sort(key=lambda request: str(request.get("labels")))
        fields = {
            "events": self._events,
            "never stored": list(self._shown.values()),
            "sessions": self._sessions,
            "artifacts": self._artifacts,
            "requests": self._requests,
            "notes": self.notes,
        }
        text = json.dumps(_without_empty(fields), ensure_ascii=False, default=str)
        numbers: dict[str, str] = {}

        def number(match: re.Match[str]) -> str:
            return numbers.setdefault(match[0], f"id-{len(numbers) + 1}")

        return json.loads(_GENERATED_ID.sub(number, text))  # type: ignore[no-any-return]

    def _event(self, event: Any) -> Json:
        dumped = event.model_dump(mode="json", exclude_none=True)
        fields = {name: dumped.get(name) for name in EVENT_FIELDS}
        fields["long_running_tool_ids"] = sorted(event.long_running_tool_ids or ())
        fields["actions"] = {name: dumped["actions"].get(name) for name in ACTIONS if not event.partial}
        if event.content is not None:
            fields["content"] = self._event_content(event.content)
        _reduce_hints(fields)
        metadata = fields["custom_metadata"] or {}
        fields["custom_metadata"] = {k: v for k, v in metadata.items() if not k.startswith("adk_")}
        compaction = fields["actions"].get("compaction")
        if compaction:
            fields["actions"]["compaction"] = compaction["compacted_content"]
        return _without_empty({"invocation": event.invocation_id, **fields})

    def _event_content(self, content: Any) -> Json:
        parts = [self._part(part) for part in content.parts or []]
        for part in parts:
            if re.fullmatch(r"\[[A-Z].*\]", part.get("text", "")):
                part["text"] = "[a sentence of the package]"
            elif "text" in part:
                self._texts.add(part["text"])
        return self._parts(content, parts)

    def _content(self, content: Any) -> Json:
        parts = [self._part(part) for part in content.parts or []]
        for part in parts:
            if "text" in part and part["text"] not in self._texts:
                part["text"] = self._own_words(part["text"])
        return self._parts(content, [part for part in parts if part.get("text") != []])

    def _parts(self, content: Any, parts: list[Json]) -> Json:
        """Return a content as one key, its role, with its parts; a text alone stands for its part."""
        return {
            content.role or "no role": [part["text"] if list(part) == ["text"] else part for part in parts]
        }

    def _part(self, part: Any) -> Json:
        fields: Json = part.model_dump(mode="json", exclude_none=True)
        answered = fields.get("function_response", {})
        response = answered.get("response", {})
        for key, value in response.items():
            if key in _FRAMEWORK_TEXTS and " " in str(value):
                words = self._words.intersection(re.findall(r"\w+", value)) - {answered["name"]}
                response[key] = sorted({*OWN_TEXT.findall(value), *words})
        return fields

    def _instruction(self, given: Any) -> Json | None:
        if given is None:
            return None
        text = given if isinstance(given, str) else json.dumps(self._plain(given), ensure_ascii=False)
        mentioned = [
            name for name in sorted(self._names) if re.search(rf"\b{name}\b", OWN_TEXT.sub("", text))
        ]
        return {"own": OWN_TEXT.findall(text), "names": mentioned}

    def _own_words(self, text: str) -> list[str]:
        """Return the program's words in a text that a package wrote."""
        known = sorted({*self._names, *self._texts}, key=len, reverse=True)
        pattern = "|".join(
            rf"\b{re.escape(word)}\b" if word[-1].isalnum() else re.escape(word) for word in known if word
        )
        return re.findall(f"{OWN_TEXT.pattern}|{pattern}" if pattern else OWN_TEXT, text)

    def _tools(self, tool: Any) -> list[Json]:
        """Return the function declarations of a tool, or the model-side tool."""
        fields = self._plain(tool)
        if "function_declarations" not in fields:
            return [fields]
        self._words.update(declaration["name"] for declaration in fields["function_declarations"])
        return [self._declaration(declaration) for declaration in fields["function_declarations"]]

    def _declaration(self, fields: Json) -> Json:
        schema = fields.get("parameters_json_schema") or fields.get("parameters") or {}
        description = OWN_TEXT.findall(fields.get("description", ""))
        self._words.update(schema.get("properties", {}))
        return _without_empty(
            {"name": fields["name"], "description": description, "parameters": comparable_schema(schema)}
        )

    def _plain(self, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", exclude_none=True)
        if isinstance(value, type) and issubclass(value, BaseModel):
            return value.__name__
        return value


def _without_empty(fields: Json) -> Json:
    """Return the fields that say something."""
    return {
        key: _without_empty(value) if key == "actions" else value
        for key, value in fields.items()
        if value not in (None, [], {}, False) and not (key == "actions" and not _without_empty(value))
    }


def _reduce_hints(value: Any) -> None:
    """Replace the hints of confirmations, which the packages word in their own way."""
    if isinstance(value, dict):
        if isinstance(value.get("hint"), str):
            value["hint"] = OWN_TEXT.findall(value["hint"])
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        _reduce_hints(item)
