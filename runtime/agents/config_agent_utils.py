"""Agents from YAML files (contract A9).

A file holds the fields of one agent. Python objects are referred to by name; nothing else of a file is executed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

import runtime.agents
import runtime.tools
from runtime.agents.base_agent import BaseAgent
from runtime.agents.code_references import resolve_fully_qualified_name
from runtime.agents.common_configs import AgentRefConfig, CodeConfig
from runtime.errors import ConfigurationError
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.tool_configs import ToolArgsConfig, ToolConfig
from runtime.utils.yaml_utils import key_lines, parse_yaml

ConfigT = TypeVar("ConfigT", bound=BaseModel)
_SET_BY_PARENT = "parent_agent"


def from_config(config_path: str | Path) -> BaseAgent:
    """Return the agent that a YAML file describes, with its sub-agents.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigurationError: the file is not valid; the message names file, line and key. Or PyYAML is missing.
    """
    return _ConfigFile(Path(config_path).resolve()).agent()


class _ConfigFile:
    """The file of one agent. `referring` are the files that led to it."""

    def __init__(self, path: Path, referring: tuple[Path, ...] = ()) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"Config file not found: {path}")
        self._path = path
        self._chain = (*referring, path)
        self._text = path.read_text(encoding="utf-8")

    def agent(self) -> BaseAgent:
        """Return the agent of this file."""
        try:
            config = parse_yaml(self._text)
        except ConfigurationError:
            raise
        except ValueError as error:
            raise self._error(str(error)) from error
        if not isinstance(config, dict):
            raise self._error("the file has no keys. Write at least `name: my_agent`")
        agent_class = self._read("agent_class", self._agent_class, config.pop("agent_class", None))
        values = {}
        for key, value in config.items():
            field, reader = self._reader(agent_class, str(key))
            if value is not None:
                values[field] = self._read(key, reader, value)
        agent: BaseAgent = self._read("", lambda given: agent_class(**given), values)
        return agent

    def _read(self, key: str, reader: Callable[[Any], Any], value: Any) -> Any:
        try:
            return reader(value)
        except ValidationError as error:
            raise self._error(_sentence(error), key) from error
        except (ConfigurationError, FileNotFoundError, TypeError, ValueError) as error:
            raise self._error(str(error), key) from error

    def _error(self, reason: str, key: str = "") -> ConfigurationError:
        line = key_lines(self._text).get(key) if key else None
        place = f", line {line}" if line else ""
        place += f", key {key!r}" if key else ""
        return ConfigurationError(f"{self._path}{place}: {reason}")

    def _agent_class(self, name: str | None) -> type[BaseAgent]:
        found = getattr(runtime.agents, name or "LlmAgent", None) or self._object(name)
        if not (inspect.isclass(found) and issubclass(found, BaseAgent)):
            raise ConfigurationError(f"{name!r} is no agent class.")
        return found

    def _reader(self, agent_class: type[BaseAgent], key: str) -> tuple[str, Callable[[Any], Any]]:
        """Return the field of a key and the function that reads the key's value."""
        fields = agent_class.model_fields.keys() - {_SET_BY_PARENT}
        field = key.removesuffix("s") if key.endswith("_callbacks") else key.removesuffix("_code")
        if field not in fields:
            known = ", ".join(sorted(fields))
            raise self._error(f"{agent_class.__name__} has no such field. The fields are {known}", key)
        if key != field or field.endswith("_callback"):
            return field, self._code
        readers = {
            "sub_agents": lambda values: [self._agent(value) for value in values],
            "tools": lambda values: [self._tool(value) for value in values],
            "input_schema": self._schema,
            "output_schema": self._schema,
        }
        return field, readers.get(field, lambda value: value)

    def _object(self, name: str | None) -> Any:
        """Return a Python object by its name; a leading dot stands for the package of the file's directory."""
        return resolve_fully_qualified_name(
            f"{self._path.parent.name}{name}" if str(name).startswith(".") else str(name)
        )

    def _code(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._code(item) for item in value]
        return self._object(_parsed(CodeConfig, "name", value).name)

    def _schema(self, value: Any) -> Any:
        is_reference = isinstance(value, str) or value.keys() == {"name"}
        return self._code(value) if is_reference else value

    def _agent(self, value: Any) -> BaseAgent:
        reference = _parsed(AgentRefConfig, "config_path", value)
        if reference.config_path is not None:
            return self._agent_of_file(reference.config_path)
        agent = self._object(reference.code)
        if not isinstance(agent, BaseAgent):
            raise ConfigurationError(f"{reference.code!r} is a {type(agent).__name__}, not an agent.")
        return agent

    def _agent_of_file(self, config_path: str) -> BaseAgent:
        directory = self._path.parent
        path = (directory / config_path).resolve()
        if not path.is_relative_to(directory):
            raise ConfigurationError(
                f"{config_path!r} is outside of {directory}. Move it beside this file or below."
            )
        if path in self._chain:
            raise ConfigurationError(f"{config_path!r} refers back to itself. Remove one of the references.")
        return _ConfigFile(path, self._chain).agent()

    def _tool(self, value: Any) -> Any:
        config = _parsed(ToolConfig, "name", value)
        tool = getattr(runtime.tools, config.name, None) or self._object(config.name)
        args = dict(config.args) if config.args else {}
        if inspect.isclass(tool) and issubclass(tool, BaseTool | BaseToolset):
            if issubclass(tool, AgentTool) and "agent" in args:
                args["agent"] = self._agent(args["agent"])
            return tool(**args)
        return tool(ToolArgsConfig(**args)) if args else tool


def _parsed(model: type[ConfigT], key: str, value: Any) -> ConfigT:
    """Return a reference; a text stands for its key."""
    return model.model_validate({key: value} if isinstance(value, str) else value)


def _sentence(error: ValidationError) -> str:
    """Return the mistakes that pydantic has found, in one line."""
    mistakes = [(".".join(map(str, found["loc"])), found["msg"]) for found in error.errors()]
    return "; ".join(f"{place}: {message}" if place else message for place, message in mistakes)
