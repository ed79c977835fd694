"""BaseNode: a node of a workflow's graph."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, final

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, TypeAdapter, field_validator

from runtime import types
from runtime._pydantic_models import construct
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions
from runtime.events.node_info import NodeInfo
from runtime.events.request_input import RequestInput
from runtime.workflow.node_context import NodeContext
from runtime.workflow.node_data import adapter_for, as_json, fit, fit_output
from runtime.workflow.retry_config import RetryConfig

START_NAME = "__START__"


class BaseNode(BaseModel):
    """A node of a workflow's graph. Subclasses implement `_run_impl`.

    All sessions share the node objects, so a node keeps nothing about a run on itself.

    Attributes:
        name: identifier, unique in its graph.
        description: purpose of the node.
        rerun_on_resume: True to run the node again once its question is answered, with all answers in
            `ctx.resume_inputs`; False if the answer is the node's output.
        retry_config: when to run the node again after a failure; None to fail at once.
        timeout: maximum seconds of an attempt; None for no limit.
        input_schema: type that the node's input is converted to.
        output_schema: type that the node's output must have.
        state_schema: model of the state's keys that the node may write; None for the schema of its workflow.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    name: str
    description: str = ""
    rerun_on_resume: bool = False
    retry_config: RetryConfig | None = None
    timeout: float | None = Field(default=None, gt=0)
    input_schema: Any = None
    output_schema: Any = None
    state_schema: type[BaseModel] | None = None

    _input_adapter: TypeAdapter[Any] | None = PrivateAttr(default=None)
    _output_adapter: TypeAdapter[Any] | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        self._input_adapter = adapter_for(self.input_schema, f"input_schema of node {self.name!r}")
        self._output_adapter = adapter_for(self.output_schema, f"output_schema of node {self.name!r}")

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not name.isidentifier():
            raise ConfigurationError(
                f"Node name {name!r} is not allowed: it must be a valid Python identifier. Give the node one by "
                "node(…, name='…')."
            )
        return name

    @property
    def waits_for_all(self) -> bool:
        """Return True if the node runs once when all nodes before it have ended, with their outputs by name."""
        return False

    @property
    def needs_slot(self) -> bool:
        """Return True if the node counts towards `max_concurrency`."""
        return True

    def clone(self) -> "BaseNode":
        """Return a node for a copy of the graph: agents have one parent, so they are copied."""
        return self

    @final
    async def run(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Event | RequestInput, None]:
        """Run the node; yield its events and questions. A value that is neither becomes the output of an event.

        Raises:
            NodeDataError: the input or the output does not fit its schema.
        """
        node_input = fit(node_input, self._input_adapter, f"The input of node {self.name!r}")
        async with aclosing(self._run_impl(ctx=ctx, node_input=node_input)) as items:
            async for item in items:
                if item is None:
                    continue
                if isinstance(item, RequestInput):
                    yield item
                elif isinstance(item, types.Content):
                    yield Event(content=item, node_info=NodeInfo(message_as_output=True))
                elif isinstance(item, Event):
                    if item.output is not None:
                        item.output = self._fit_output(item.output)
                    yield item
                else:
                    output = as_json(item)
                    if output is not None:
                        yield _output_event(self._fit_output(output))

    def _fit_output(self, output: Any) -> Any:
        return fit_output(output, self._output_adapter, f"The output of node {self.name!r}")

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        """Yield events, questions, or the output. Subclasses implement this method."""
        raise NotImplementedError(f"Node {self.name!r} ({type(self).__name__}) does not implement _run_impl.")
        yield  # makes this an async generator, as every implementation is


def _output_event(output: Any) -> Event:
    # Without an id and a time: the last event of the run, which takes over the output, has its own.
    return construct(Event, id="", timestamp=0.0, output=output, actions=construct(EventActions))


START = BaseNode(name=START_NAME)
"""Place before the first nodes of a graph. It never runs."""


class JoinNode(BaseNode):
    """Runs once when all nodes before it have ended; its output is a dict of their outputs, by node name.

    In a loop it waits for all of them again, once per round.
    """

    @property
    def waits_for_all(self) -> bool:
        return True

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        yield node_input
