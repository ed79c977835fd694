"""Contract: adk-web gets the graph of each workflow of an app in google-adk's shape, and drawings of it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.tools import FunctionTool
from runtime.workflow import JoinNode, Workflow
from tests.fakes import ScriptedModel
from tests.integration.access import APP
from tests.integration.api.adk.conftest import Send
from tests.served_agents import Served

pytestmark = pytest.mark.django_db(transaction=True)
GRAPH = f"/adk/dev/apps/{APP}/build_graph"
IMAGE = f"{GRAPH}_image"


@pytest.fixture(autouse=True)
def app(served: Served) -> None:
    """The app, whose root agent has a workflow with another one in it."""

    def look_up(node_input: str) -> str:
        """A secret purpose."""
        return node_input

    def decide(node_input: Any) -> None: ...
    def pay() -> None: ...
    def weigh(order: str) -> None: ...

    helper = LlmAgent(name="helper", instruction="A secret instruction", model=ScriptedModel())
    payment = Workflow(name="payment", edges=[("START", pay)])
    checks = JoinNode(name="checks")
    edges = [
        ("START", look_up, (FunctionTool(weigh), helper), checks, decide),
        (decide, {'"no"\\': payment, True: look_up}),
    ]
    refunds = Workflow(name="refunds", edges=edges)
    root = LlmAgent(name="desk", description="Helps", model=ScriptedModel(), sub_agents=[refunds])
    served(App(name=APP, root_agent=root))


async def test_a_workflow_has_its_nodes_and_edges(send: Send) -> None:
    status, shown = await send("GET", GRAPH)
    root = shown["root_agent"]
    assert (status, shown["name"], root["name"], root["description"]) == (200, APP, "desk", "Helps")
    [refunds] = root["sub_agents"]
    graph = refunds["graph"]
    assert [(node["name"], node["type"]) for node in graph["nodes"]] == [
        ("__START__", "start"),
        ("look_up", "function"),
        ("weigh", "tool"),
        ("helper", "agent"),
        ("checks", "join"),
        ("decide", "function"),
        ("payment", "workflow"),
    ]
    ends = [(edge["from_node"]["name"], edge["to_node"]["name"]) for edge in graph["edges"]]
    assert ends == [
        ("__START__", "look_up"),
        ("look_up", "weigh"),
        ("look_up", "helper"),
        ("weigh", "checks"),
        ("helper", "checks"),
        ("checks", "decide"),
        ("decide", "payment"),
        ("decide", "look_up"),
    ]
    routes = [edge["route"] for edge in graph["edges"] if "route" in edge]
    assert routes == ['"no"\\', True]
    assert [node["name"] for node in graph["nodes"][-1]["graph"]["nodes"]] == ["__START__", "pay"]
    assert "secret" not in str(shown)


async def test_each_workflow_is_drawn_by_its_path(send: Send) -> None:
    status, drawn = await send("GET", IMAGE)
    assert (status, list(drawn)) == (200, ["", "refunds", "refunds/payment"])
    assert '"desk" -> "refunds"\n"refunds"\n"refunds" -> "look_up"\n' in drawn[""]["dotSrc"]
    lines = drawn["refunds"]["dotSrc"].splitlines()
    assert r'"decide" -> "payment" [label="\"no\"\\"]' in lines
    assert '"payment" -> "__END__"' in lines and '"decide" -> "__END__"' not in lines
    assert '"decide" [shape=diamond style=filled]' in lines
    _, of_node = await send("GET", f"{IMAGE}?node=desk/refunds/payment&dark_mode=true")
    [dark] = of_node.values()
    assert '"__START__" -> "pay"' in dark["dotSrc"] and dark != drawn["refunds/payment"]
    assert (await send("GET", f"{IMAGE}?node=refunds/other"))[0] == 404
