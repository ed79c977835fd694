"""Explanation of an app as plain text: its agents, and each tool's declaration as the model sees it.

A declaration is made from annotations and docstrings, often not as the author expects. For each part the explanation
names the place in the source it comes from, and warns about parts that are missing.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import relpath
from textwrap import dedent, fill, shorten
from typing import Annotated, Any, get_origin

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import tools_of
from runtime.apps.app import App
from runtime.callbacks import as_list
from runtime.errors import ConfigurationError
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.callables import (
    annotation_of,
    description_of,
    docstring_of,
    is_context_parameter,
    name_of,
    underlying_function,
)
from runtime.tools.declared_parameters import parameter_schemas
from runtime.tools.function_tool import FunctionTool
from sessions_app.agent_apps.loading.load_errors import reason_of
from sessions_app.jobs.as_job import ToolAsJob
from sessions_app.management.agent_listing import WIDTH, agent_title, agents_of, tool_name, type_text

LABEL_WIDTH = 16
Row = tuple[str, str]
"""A label and its text."""


@dataclass(frozen=True)
class FunctionSource:
    """Function of a tool, with the lines of its docstring by line number of the file."""

    function: Callable[..., Any]
    file: str
    line: int
    docstring_lines: dict[int, str]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the function, including hidden parameters such as the context."""
        return dict(inspect.signature(self.function).parameters)

    @property
    def description_origin(self) -> str:
        """Place of the description."""
        quotes_before_text = " \"'\\rR\n"
        return self._place_of(lambda line: line.lstrip(quotes_before_text))

    def origin_of(self, name: str) -> str:
        """Return the place of a parameter's description."""
        if get_origin(_annotation(self.function, self.parameters[name])) is Annotated:
            return "annotation"
        described = re.compile(rf"\s*(?::param\s+(?:\w+\s+)?)?{re.escape(name)}\b\s*(?:\(.*?\))?\s*(?::|$)")
        return self._place_of(described.match)

    def _place_of(self, is_described: Callable[[str], object]) -> str:
        """Return the first line of the docstring for which the function returns a true value."""
        for number, line in self.docstring_lines.items():
            if is_described(line):
                return f"docstring, line {number}"
        return "docstring"

    def declared_type(self, name: str) -> str:
        """Return the annotation and the default of a parameter as in the source."""
        parameter = self.parameters[name]
        words = "no annotation"
        if parameter.annotation is not inspect.Parameter.empty:
            words = f"annotation {_annotation_text(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            words += f", default {parameter.default!r}"
        return words


def explain_tool(tool: BaseTool | BaseToolset) -> Iterator[Row]:
    """Yield the rows of a tool; the first has its name."""
    yield "tool", tool_name(tool)
    if isinstance(tool, BaseToolset):
        return
    try:
        declaration = tool._get_declaration()
    except Exception as error:  # noqa: BLE001 - a tool may raise anything; the others are explained all the same
        yield "warning", f"cannot be declared: {reason_of(error)}"
        return
    if declaration is None:
        yield "", "changes the request; the model does not call it as a function"
        return
    inner: BaseTool = tool
    if isinstance(tool, ToolAsJob):
        inner = tool.tool
    source = None
    if isinstance(inner, FunctionTool):
        source = _source_of(inner.func)
    if source:
        yield "defined in", f"line {source.line} of {source.file}"
    yield from _explain_description(declaration.description or "", type(tool).__name__, source)
    for name, schema, is_required in parameter_schemas(declaration):
        yield from _explain_parameter(name, schema, is_required, source)
    if source:
        hidden = [p.name for p in source.parameters.values() if is_context_parameter(source.function, p)]
        if hidden:
            yield "hidden", f"{', '.join(hidden)}  (the runtime fills it in)"


def _explain_description(text: str, kind: str, source: FunctionSource | None) -> Iterator[Row]:
    own = ""
    if source:
        own = description_of(docstring_of(source.function))
    added = text.removeprefix(own).strip()
    if source and not own:
        yield "warning", "no docstring: the model has only the name to decide by"
    if source and own:
        yield "description", f"{' '.join(own.split())}  ({source.description_origin})"
    if added:
        yield "description", f"{' '.join(added.split())}  (added by {kind})"


def _explain_parameter(
    name: str, schema: types.Schema, is_required: bool, source: FunctionSource | None
) -> Iterator[Row]:
    if source and name not in source.parameters:
        source = None
    origin = "declared by the tool"
    place = ""
    if source:
        origin = source.declared_type(name)
        place = f"  ({source.origin_of(name)})"
    yield f"  {name}", f"{type_text(schema)}, {'required' if is_required else 'optional'}  ({origin})"
    if schema.description:
        yield "", f"{' '.join(schema.description.split())}{place}"
    else:
        yield "", "no description"
    if source and source.parameters[name].annotation is inspect.Parameter.empty:
        yield "warning", f"{name!r} has no type: the model is told that any value fits"


def _source_of(function: Callable[..., Any]) -> FunctionSource | None:
    """Return the source of a function; None for functions without source, such as functions made at run time."""
    defined = inspect.unwrap(underlying_function(function))
    try:
        lines, start = inspect.getsourcelines(defined)
        file = relpath(inspect.getsourcefile(defined) or "?")
        nodes = ast.parse(dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError):
        return None
    docstring: dict[int, str] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            for number in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                docstring[start + number - 1] = lines[number - 1]
    return FunctionSource(function, file, start, docstring)


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    try:
        return annotation_of(function, parameter)
    except ConfigurationError:  # the system check reports it
        return None


def _annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return inspect.formatannotation(annotation).replace("typing.", "")


def explain(app: App) -> Iterator[str]:
    """Yield the explanation in lines of at most `WIDTH` characters, except for longer words."""
    if app.plugins:
        yield _line("  ", ("plugins", ", ".join(plugin.name for plugin in app.plugins)))
    for _, agent in agents_of(app):
        yield ""
        yield agent_title(agent)
        for row in _agent_rows(agent):
            yield _line("  ", row)
        for tool in tools_of(agent):
            yield ""
            for row in explain_tool(tool):
                yield _line("  ", row)


def _agent_rows(agent: BaseAgent) -> Iterator[Row]:
    yield "description", agent.description or "none: other agents have only its name to decide by"
    if isinstance(agent, LlmAgent):
        yield "instruction", _instruction_text(agent)
    if agent.sub_agents:
        yield "sub-agents", ", ".join(child.name for child in agent.sub_agents)
    for field in sorted(type(agent).model_fields):
        if field.endswith("_callback") and (callbacks := as_list(getattr(agent, field))):
            yield "callback", f"{field}: {', '.join(map(name_of, callbacks))}"


def _instruction_text(agent: LlmAgent) -> str:
    if callable(agent.instruction):
        return f"computed by {name_of(agent.instruction)}()"
    return shorten(agent.instruction, 3 * WIDTH, placeholder=" …") or "none"


def _line(indent: str, row: Row) -> str:
    label, text = row
    first = f"{indent}{label:<{LABEL_WIDTH}}"
    if len(label) >= LABEL_WIDTH:
        first = f"{indent}{label}  "
    rest = " " * (len(indent) + LABEL_WIDTH)
    return fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
