"""Contract: staff see each node of a workflow with its state, as it was after any event (contract W3)."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runtime.workflow import JoinNode, Workflow
from runtime.workflow.build import node
from runtime.workflow.progress import NodeProgress, NodeState
from sessions_app.admin.session.workflow_graph.drawing import draw
from sessions_app.models import AnswerRequest, Invocation, Session
from tests.integration.admin.audit_rows import HOSTILE, append_event, read
from tests.integration.admin.test_trace_page import rows_of, trace_of
from tests.served_agents import Served

pytestmark = pytest.mark.django_db


def graph_of(session: Session, **query: object) -> str:
    url = reverse("admin:sessions_app_session_graph", args=[session.pk])
    return f"{url}?invocation=e-1" + "".join(f"&{name}={value}" for name, value in query.items())


def states_of(html: str) -> dict[str, str]:
    """Return the states in the drawing, by node."""
    [drawing] = re.findall(r'<script type="application/json">(.*?)</script>', html)
    return {drawn["id"]: drawn["state"] for drawn in json.loads(drawing)["nodes"]}


def cells_of(html: str, node_name: str) -> list[str]:
    """Return the texts of the row of a node."""
    row = html.split(f'<tr id="node-{node_name}">', 1)[1].split("</tr>", 1)[0]
    cells = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL)
    return [unescape(" ".join(re.sub(r"<.*?>", " ", cell).split())) for cell in cells]


def end(session: Session, path: str, output: Any = "ok") -> None:
    append_event(
        session, output=output, nodeInfo={"path": f"help_desk@1/{path}", "hasEnded": True}, author="help_desk"
    )


@pytest.fixture
def refunds(session: Session, served: Served) -> Session:
    """A session in which a node of a workflow has failed."""

    def look_up() -> None: ...
    def pay() -> None: ...
    def mail() -> None: ...

    served(Workflow(name="help_desk", edges=[("START", look_up, pay, mail)]))
    append_event(session, {"text": "Order 1001"}, author="user")
    end(session, "look_up@1", HOSTILE)
    failed = {"path": "help_desk@1/pay@1"}
    append_event(session, errorCode="BankError", nodeInfo=failed, author="help_desk")
    return session


def test_the_view_of_the_person_shows_the_steps_once_where_the_workflow_begins(
    auditor: Client, refunds: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.admin.session.timeline.page.EVENTS_PER_PAGE", 2)
    page = reverse("admin:sessions_app_session_change", args=[refunds.pk])
    first, second = [read(auditor, f"{page}?view=person&page={number}") for number in (1, 2)]
    shown = re.findall(r'data-state="(\w+)"\s+data-name="([^"]+)"', first)
    assert shown == [("done", "Look up"), ("failed", "Pay"), ("pending", "Mail")]
    assert "data-name" not in second and "<script>" not in first


def test_the_inbox_shows_the_steps_in_the_conversation_before_a_call(
    admin_client: Client, refunds: Session
) -> None:
    asked = {"session": refunds, "invocation_id": "e-1"}
    Invocation.objects.create(**asked, client_id="m", message={}, status="waiting")
    names = {**asked, "call_id": "c-1", "tool_name": "pay", "agent_name": "help_desk"}
    row = AnswerRequest.objects.create(kind="confirmation", effect="Pay", asked_at=timezone.now(), **names)
    html = read(admin_client, reverse("admin:sessions_app_answerrequest_change", args=[row.pk]))
    shown = re.findall(r'data-state="(\w+)"\s+data-name="([^"]+)"', html)
    assert shown == [("done", "Look up"), ("failed", "Pay"), ("pending", "Mail")]
    assert HOSTILE not in html and "/css/steps" in html


def test_each_node_has_its_state_and_the_event_that_it_stands_in(auditor: Client, refunds: Session) -> None:
    html = read(auditor, graph_of(refunds))
    assert states_of(html) == {"look_up": "done", "pay": "failed", "mail": "pending"}
    assert HOSTILE not in html and "BankError" in html
    assert re.search(r'<a href="[^"]*event=3#event-3">#3</a>', html)
    assert trace_of(refunds).replace("&", "&amp;") in html


def test_the_row_of_a_node_has_its_attempts_duration_input_output_and_event(
    auditor: Client, session: Session, served: Served
) -> None:
    def look_up() -> None: ...
    def pay() -> None: ...

    served(Workflow(name="help_desk", edges=[("START", look_up, pay)]))
    append_event(session, {"text": "Order 1001"}, author="user")
    end(session, "look_up@1", {"order": 1001})
    for attempts in (1, 2):
        failed = {"path": "help_desk@1/pay@1", "failedAttempts": attempts, "retryAt": 0}
        append_event(session, nodeInfo=failed, author="help_desk")
    html = read(auditor, graph_of(session))
    order = '{ "order": 1001 }'
    assert cells_of(html, "look_up") == [
        *("help_desk@1/look_up@1", "Done", "1", "2.5 s"),
        *('"Order 1001" "Order 1001"', f"{order} {order}", "#2"),
    ]
    assert cells_of(html, "pay")[1:4] == ["Stopped", "3", ""]
    end(session, "pay@1", "Paid.")
    assert cells_of(read(auditor, graph_of(session)), "pay") == [
        *("help_desk@1/pay@1", "Done", "3", "7.5 s"),
        *(f"{order} {order}", '"Paid." "Paid."', "#5"),
    ]
    assert re.search(r'<a href="[^"]*event=5#event-5">#5</a>', read(auditor, graph_of(session)))


def test_a_failed_run_and_the_first_of_each_drawn_node_are_listed_however_many_runs_there_are(
    auditor: Client, refunds: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.admin.session.workflow_graph.page.MAX_RUNS", 1)
    for number in (2, 3):
        failed = {"path": f"help_desk@1/pay@{number}"}
        append_event(refunds, errorCode="BankError", nodeInfo=failed, author="help_desk")
    end(refunds, "look_up@2")
    html = read(auditor, graph_of(refunds))
    rows = html.split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    assert re.findall(r"help_desk@1/(\w+@\d)", rows) == ["look_up@1", "pay@1", "pay@2"]
    assert re.findall(r'<tr id="node-(\w+)"', rows) == ["look_up", "pay", "mail"]
    assert "2 more runs" in html


def test_a_node_that_the_drawing_leads_to_is_listed_however_many_runs_there_are(
    auditor: Client, refunds: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.admin.session.workflow_graph.page.MAX_RUNS", 2)
    end(refunds, "look_up@2")
    html = read(auditor, graph_of(refunds))
    assert re.findall(r'<tr id="node-(\w+)"', html) == ["look_up", "pay", "mail"]
    assert "1 more run" in html


def test_the_timeline_names_nodes_with_their_outputs_and_leads_to_the_graph(
    auditor: Client, refunds: Session
) -> None:
    html = read(auditor, reverse("admin:sessions_app_session_change", args=[refunds.pk]))
    line = '<span class="audit-badge" data-status="node">node</span> <bdi>look_up → '
    assert html.count(line) == 1
    assert HOSTILE not in html
    assert f'<a href="{graph_of(refunds)}">Graph of the workflow</a>' in html


def test_the_graph_is_shown_as_it_was_after_an_earlier_event(auditor: Client, refunds: Session) -> None:
    html = read(auditor, graph_of(refunds, at=2))
    assert states_of(html) == {"look_up": "done", "pay": "running", "mail": "pending"}
    assert "After event 2 of 3" in " ".join(html.split())


def test_the_trace_has_spans_of_nodes_and_leads_to_the_graph(auditor: Client, refunds: Session) -> None:
    html = read(auditor, trace_of(refunds))
    assert graph_of(refunds).replace("&", "&amp;") in html
    assert [row.split()[:2] for row in rows_of(html) if row.startswith("node")] == [
        ["node", "look_up@1"],
        ["node", "pay@1"],
    ]


def test_an_invocation_without_a_workflow_has_no_graph(auditor: Client, session: Session) -> None:
    append_event(session, {"text": "Hello"}, author="user")
    assert auditor.get(graph_of(session)).status_code == 404
    assert graph_of(session).replace("&", "&amp;") not in read(auditor, trace_of(session))


def test_a_thousand_nodes_are_folded() -> None:
    def count() -> None: ...

    nodes = [node(count, name=f"n{number}") for number in range(500)]
    beside = tuple(node(count, name=f"b{number}") for number in range(499))
    flow = Workflow(name="flow", edges=[("START", *nodes, beside, JoinNode(name="join"))])
    steps = [NodeProgress(name, state=NodeState.DONE) for name in flow.graph.nodes]
    steps[250].state = NodeState.FAILED
    drawing = draw(flow.graph, steps)
    assert [(drawn["title"], drawn["state"]) for drawn in drawing["nodes"]] == [
        ("250 nodes", "done"),
        ("n250", "failed"),
        ("249 nodes", "done"),
        ("499 nodes", "done"),
        ("join", "done"),
    ]
    assert len(drawing["edges"]) == 4
