"""Workflow: an agent that runs the nodes of a graph (contract W1)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import chain
from typing import Any

from pydantic import BaseModel, Field, PrivateAttr, TypeAdapter

from runtime.agents.base_agent import BaseAgent
from runtime.context import InvocationContext
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.node_info import child_path
from runtime.sessions.state import StateSchemaError
from runtime.workflow.agent_node import AgentNode
from runtime.workflow.base_node import START, BaseNode
from runtime.workflow.build import EdgeParser
from runtime.workflow.engine import WorkflowEngine
from runtime.workflow.errors import SeveralOutputsError
from runtime.workflow.function_node import FunctionNode
from runtime.workflow.graph import Graph
from runtime.workflow.node_data import adapter_for, fit, fit_output
from runtime.workflow.parallel_worker import ParallelWorker
from runtime.workflow.plan import Plan


class Workflow(BaseAgent):
    """Runs nodes in the order of a graph: functions, agents, and other workflows.

    A node's output is the input of the nodes that follow. The first nodes get the user's message. The output of the
    node that no edge leaves is the workflow's; a text is shown to the user. An interrupted workflow continues
    where it stopped: nodes that have ended do not run again.

    Attributes:
        edges: `Edge` objects and chains, such as `("START", look_up, (stock, fraud), join, {True: refund})`.
        max_concurrency: maximum number of nodes that run at once; None for no limit.
        input_schema: type that the input is converted to.
        output_schema: type that the output must have.
        state_schema: model of the state's keys that nodes may read as parameters and write; None for any.

    Raises:
        GraphValidationError: the graph cannot run. The message names the nodes.
        StateSchemaError: a parameter of a function is not in the `state_schema`.
    """

    edges: list[Any] = Field(default_factory=list, exclude=True)
    max_concurrency: int | None = None
    input_schema: Any = None
    output_schema: Any = None
    state_schema: type[BaseModel] | None = None
    _graph: Graph = PrivateAttr()
    _input_adapter: TypeAdapter[Any] | None = PrivateAttr()
    _output_adapter: TypeAdapter[Any] | None = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the graph; make its agents sub-agents."""
        if self.sub_agents:
            raise ConfigurationError(
                f"Workflow {self.name!r} has sub_agents. Put its agents into the edges, as nodes."
            )
        self._input_adapter = adapter_for(self.input_schema, f"input_schema of workflow {self.name!r}")
        self._output_adapter = adapter_for(self.output_schema, f"output_schema of workflow {self.name!r}")
        self._graph = Graph.from_edges(list(EdgeParser().parse(self.edges)), self.name)
        for node in self._graph.nodes.values():
            if self.state_schema is not None and isinstance(node, FunctionNode):
                _check_parameters(node, self.state_schema)
        self.sub_agents = list(chain.from_iterable(map(_agents_of, self._graph.nodes.values())))
        super().model_post_init(context)

    def clone(self, update: dict[str, Any] | None = None) -> BaseAgent:
        """Return a copy without a parent, with copies of its agents (contract Q16)."""
        nodes = {name: node.clone() for name, node in self._graph.nodes.items()}
        nodes[START.name] = START
        edges = []
        for leaving in self._graph.edges_from.values():
            for edge in leaving:
                ends = {"from_node": nodes[edge.from_node.name], "to_node": nodes[edge.to_node.name]}
                edges.append(edge.model_copy(update=ends))
        return super().clone({"edges": edges, "sub_agents": [], **(update or {})})

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def records_progress(self) -> bool:
        """Return False: the progress follows from the events of the nodes."""
        return False

    @property
    def always_resumes(self) -> bool:
        """Return True: a question of a node is answered in the same invocation."""
        return True

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        path = self._path(ctx)
        given: Any = ctx.user_content
        if ctx.node is not None and ctx.node.input is not None:
            given = ctx.node.input
        workflow_input = fit(given, self._input_adapter, f"The input of workflow {self.name!r}")
        plan = Plan(self._graph, self.name, path, workflow_input, ctx.branch)
        schema = self.state_schema
        if schema is None and ctx.node is not None:
            schema = ctx.node.state_schema
        engine = WorkflowEngine(ctx, plan, schema, self.max_concurrency)
        async with aclosing(engine.events()) as events:
            async for event in events:
                yield event
        if len(plan.outputs) > 1:
            # The graph was another one when the nodes ended.
            raise SeveralOutputsError(self.name, list(plan.outputs))
        for output in plan.outputs.values():
            checked = fit_output(output, self._output_adapter, f"The output of workflow {self.name!r}")
            if ctx.node is not None:
                yield Event(output=checked)

    def _path(self, ctx: InvocationContext) -> str:
        """Return the path of this run: the node's own, or the next number in the invocation."""
        if ctx.node is not None:
            return ctx.node.path
        log = ctx.updated_log()
        number = 1
        while log.run(child_path("", self.name, number)).has_begun:
            number += 1
        if ctx.resuming and number > 1:
            number -= 1
        return child_path("", self.name, number)


def _check_parameters(node: FunctionNode, schema: type[BaseModel]) -> None:
    missing = [name for name in node.state_keys if name not in schema.model_fields]
    if missing:
        raise StateSchemaError(
            f"Node {node.name!r} needs {missing[0]!r}, which {schema.__name__} does not have. Add the field, or call "
            f"the parameter as one of {', '.join(schema.model_fields)}."
        )


def _agents_of(node: BaseNode) -> list[BaseAgent]:
    if isinstance(node, ParallelWorker):
        return _agents_of(node.worker)
    if isinstance(node, FunctionNode) and node.gate is not None:
        return _agents_of(node.gate)
    if isinstance(node, AgentNode):
        return [node.agent]
    return []
