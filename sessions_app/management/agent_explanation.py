"""Explanation of an app: its agents, their models, callbacks and tools, as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill, shorten

from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.tree import tools_of
from runtime.apps.app import App
from runtime.callbacks import as_list
from runtime.tools.callables import name_of
from sessions_app.management.agent_listing import WIDTH, agent_title, agents_of
from sessions_app.management.tool_explanation import Row, explain_tool

LABEL_WIDTH = 16


def explain(app: App) -> Iterator[str]:
    """Yield the explanation in lines of at most `WIDTH` characters; only a longer word exceeds them."""
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
