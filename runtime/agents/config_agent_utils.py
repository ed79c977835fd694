"""Agents from YAML files (contract A9).

A file holds the fields of an agent and refers to Python objects by name; nothing else in it can execute code. Errors
name file, line and key, so every value is read by `_ConfigFile._read`, which knows the key.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

import runtime.agents
import runtime.tools
from runtime.agents.base_agent import BaseAgent
from runtime.agents.code_references import resolve_fully_qualified_name
from runtime.agents.common_configs import AgentRefConfig, CodeConfig
from runtime.errors import ConfigurationError, with_article
from runtime.tools.agent_tool import AgentTool
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.tool_configs import ToolArgsConfig, ToolConfig
from runtime.utils.yaml_utils import key_lines, parse_yaml

ConfigT = TypeVar("ConfigT", bound=BaseModel)
_SET_BY_PARENT = "parent_agent"


def from_config(config_path: str | Path) -> BaseAgent:
    """Return the agent described by a YAML file, with its sub-agents.

    Raises:
        FileNotFoundError: there is no such file.
        ConfigurationError: the file is not valid; the message names file, line and key; or PyYAML is missing.
    """
    return _ConfigFile(Path(config_path).resolve()).agent()


class _ConfigFile:
    """The file of an agent.

    Args:
        referring: chain of files whose references lead to this file, outermost first.
    """

    def __init__(self, path: Path, referring: tuple[Path, ...] = ()) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"Config file not found: {path}")
        self._path = path
        self._chain = (*referring, path)
        self._text = ""

    def agent(self) -> BaseAgent:
        config = self._parse_file()
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

    def _parse_file(self) -> Any:
        try:
            self._text = self._path.read_text(encoding="utf-8")
            return parse_yaml(self._text)
        except ConfigurationError:
            raise
        except (OSError, RecursionError, ValueError) as error:
            raise self._error(str(error)) from error

    def _read(self, key: str, reader: Callable[[Any], Any], value: Any) -> Any:
        try:
            return reader(value)
        except ValidationError as error:
            raise self._error(_mistakes_in(error), key or _first_field(error)) from error
        except (ConfigurationError, FileNotFoundError, TypeError, ValueError) as error:
            raise self._error(str(error), key) from error
        except Exception as error:  # The class of a tool or an agent is the author's, and may raise anything.
            raise self._error(f"{type(error).__name__}: {error}", key) from error

    def _error(self, reason: str, key: str = "") -> ConfigurationError:
        place = str(self._path)
        if key:
            line = key_lines(self._text).get(key)
            if line:
                place += f", line {line}"
            place += f", key {key!r}"
        return ConfigurationError(f"{place}: {reason}")

    def _agent_class(self, name: str | None) -> type[BaseAgent]:
        name = name or "LlmAgent"
        if name in runtime.agents.__all__:
            found = getattr(runtime.agents, name)
        else:
            found = self._resolve_object(name)
        if not (inspect.isclass(found) and issubclass(found, BaseAgent)):
            raise ConfigurationError(f"{name!r} is no agent class.")
        return found

    def _reader(self, agent_class: type[BaseAgent], key: str) -> tuple[str, Callable[[Any], Any]]:
        """Return the field of a key, and the function to read the key's value."""
        field, names_code = self._field(agent_class, key)
        readers: dict[str, Callable[[Any], Any]] = {
            "sub_agents": lambda values: [self._resolve_agent(value) for value in _check_list(values)],
            "tools": lambda values: [self._resolve_tool(value) for value in _check_list(values)],
            "input_schema": self._resolve_schema,
            "output_schema": self._resolve_schema,
        }
        if key in readers:
            return field, readers[key]
        if names_code:
            return field, self._resolve_code
        return field, lambda value: value

    def _field(self, agent_class: type[BaseAgent], key: str) -> tuple[str, bool]:
        """Return the field of a key, and True if the value names code."""
        # google-adk's files have special keys for code: `model_code`, `before_model_callbacks`.
        fields = dict(agent_class.model_fields)
        fields.pop(_SET_BY_PARENT)
        if key in fields:
            return key, _takes_callables(fields[key].annotation)
        for suffix, code in (("_code", "_code"), ("_callbacks", "s")):
            field = key.removesuffix(code)
            if key.endswith(suffix) and field in fields:
                return field, True
        known = ", ".join(sorted(fields))
        raise self._error(f"{agent_class.__name__} has no such field. The fields are {known}", key)

    def _resolve_object(self, name: str | None) -> Any:
        """Return a Python object by name. A leading dot stands for the package of the file's directory."""
        if not str(name).startswith("."):
            return resolve_fully_qualified_name(str(name))
        root = self._chain[0].parent
        package = ".".join((root.name, *self._path.parent.relative_to(root).parts))
        return resolve_fully_qualified_name(f"{package}{name}")

    def _resolve_code(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolve_code(item) for item in value]
        return self._resolve_object(_parse_reference(CodeConfig, "name", value).name)

    def _resolve_schema(self, value: Any) -> Any:
        if isinstance(value, dict) and value.keys() != {"name"}:
            return value
        return self._resolve_object(_parse_reference(CodeConfig, "name", value).name)

    def _resolve_agent(self, value: Any) -> BaseAgent:
        reference = _parse_reference(AgentRefConfig, "config_path", value)
        if reference.config_path is not None:
            return self._read_agent(reference.config_path)
        agent = self._resolve_object(reference.code)
        if not isinstance(agent, BaseAgent):
            raise ConfigurationError(
                f"{reference.code!r} is {with_article(type(agent).__name__)}, not an agent."
            )
        return agent

    def _read_agent(self, config_path: str) -> BaseAgent:
        directory = self._path.parent
        path = (directory / config_path).resolve()
        # `resolve` has followed `..` and symbolic links: a file must not read others outside of its folder.
        if not path.is_relative_to(directory):
            raise ConfigurationError(
                f"{config_path!r} is outside of {directory}. Move it beside this file or below."
            )
        # Files that refer to each other would be read forever.
        if path in self._chain:
            raise ConfigurationError(f"{config_path!r} refers back to itself. Remove one of the references.")
        return _ConfigFile(path, self._chain).agent()

    def _resolve_tool(self, value: Any) -> Any:
        config = _parse_reference(ToolConfig, "name", value)
        tool = getattr(runtime.tools, config.name, None) or self._resolve_object(config.name)
        args = dict(config.args or {})
        if inspect.isclass(tool) and issubclass(tool, BaseTool | BaseToolset):
            if issubclass(tool, AgentTool) and "agent" in args:
                args["agent"] = self._resolve_agent(args["agent"])
            return tool.from_config(ToolArgsConfig(**args), str(self._path))
        if not (callable(tool) or isinstance(tool, BaseTool | BaseToolset)):
            raise ConfigurationError(f"{config.name!r} is {with_article(type(tool).__name__)}, not a tool.")
        if not args:
            return tool
        return tool(ToolArgsConfig(**args))


def _parse_reference(model: type[ConfigT], key: str, value: Any) -> ConfigT:
    """Return the reference in a value. A plain text stands for an object whose `key` has this text."""
    if isinstance(value, str):
        value = {key: value}
    return model.model_validate(value)


def _takes_callables(annotation: Any) -> bool:
    """Return True for a field of callables, alone or in a list, that takes no text."""
    hints = get_args(annotation)
    if get_origin(annotation) in (Union, UnionType, list):
        return str not in hints and any(_takes_callables(hint) for hint in hints)
    return Callable in (annotation, get_origin(annotation))


def _check_list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ConfigurationError(f"the value is {with_article(type(values).__name__)}. Write a list")
    return values


def _first_field(error: ValidationError) -> str:
    """Return the field of the first mistake; empty if the mistake concerns no single field."""
    place = error.errors()[0]["loc"]
    return str(place[0]) if place else ""


def _mistakes_in(error: ValidationError) -> str:
    """Return the mistakes found by pydantic, on one line."""
    mistakes = []
    for found in error.errors():
        place = ".".join(map(str, found["loc"]))
        if place:
            mistakes.append(f"{place}: {found['msg']}")
        else:
            mistakes.append(found["msg"])
    return "; ".join(mistakes)
