"""Versions of apps: a label of the author, and a digest of what makes up the agents.

The digest is the same in all processes that have loaded the same code. It covers the fields of all agents, the source
of the functions given to them, and the declarations of their tools. Code that these functions call and the tools that a
server offers are not covered: an author announces such a change by `agent_version`.
"""

import inspect
import json
import re
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from runtime.apps.app import App
from runtime.errors import ConfigurationError
from runtime.models.base_llm import BaseLlm
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset

MAX_LABEL_LENGTH = 40
DIGEST_LENGTH = 12
_LABEL = re.compile(r"[\w.+-]*")
_PARENT = "parent_agent"


def label_of(module: object) -> str:
    """Return the `agent_version` of a module; empty without one.

    Raises:
        ConfigurationError: the label is no text of letters, digits, `.`, `_`, `+` and `-`, or it is too long.
    """
    label = getattr(module, "agent_version", "")
    if isinstance(label, str) and len(label) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(label):
        return label
    raise ConfigurationError(
        f"{getattr(module, '__name__', module)}: agent_version must be at most {MAX_LABEL_LENGTH} letters, digits, "
        f"dots, underscores, plus and minus signs, such as '1.4'; it is {label!r:.200}."
    )


def version_of(app: App, label: str = "") -> str:
    """Return the version of an app, such as `shop:1.4@3fa9c2d1b0e4`; `shop@3fa9c2d1b0e4` without a label."""
    text = json.dumps(_Description().of(app), sort_keys=True)
    digest = sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
    return f"{app.name}:{label}@{digest}" if label else f"{app.name}@{digest}"


class _Description:
    """Describes objects as JSON, each object in full once."""

    def __init__(self) -> None:
        self._seen: list[object] = []

    def of(self, value: object) -> Any:
        if isinstance(value, Enum | bytes):
            return repr(value)
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted(json.dumps(self.of(item), sort_keys=True) for item in value)
        if isinstance(value, Mapping):
            return {str(key): self.of(item) for key, item in value.items()}
        if any(value is seen for seen in self._seen):
            return _name(value)
        self._seen.append(value)
        if inspect.isroutine(value) or isinstance(value, type):
            return [_name(value), _source(value)]
        return {"class": _name(type(value)), **self._parts(value)}

    def _parts(self, value: object) -> dict[str, Any]:
        """Describe what distinguishes an object from others of its class."""
        if isinstance(value, BaseLlm):
            return {"model": value.model}
        if isinstance(value, BaseToolset):
            names = value.tool_filter if isinstance(value.tool_filter, list) else None
            return {"prefix": value.tool_name_prefix, "tools": names}
        parts: dict[str, Any] = {}
        if isinstance(value, BaseTool):
            declaration = value._get_declaration()
            parts = {"name": value.name, "declaration": self.of(declaration)}
        if isinstance(value, BaseModel):
            # Only what was given: a new field of the runtime is no change of an agent.
            given = sorted(value.model_fields_set - {_PARENT})
            parts |= {name: self.of(getattr(value, name)) for name in given}
        # The function of a tool or a node, and the agent of a tool.
        for name in ("func", "_func", "agent"):
            if hasattr(value, name):
                parts[name] = self.of(getattr(value, name))
        return parts


def _name(value: object) -> str:
    """Return a name that is the same in all processes."""
    named: Any = value if hasattr(value, "__qualname__") else type(value)
    name = getattr(value, "name", "")
    if not isinstance(name, str):
        name = ""
    return f"{named.__module__}.{named.__qualname__} {name}"


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):  # built in, or written at a prompt
        return ""
