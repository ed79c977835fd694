"""Checks of workflows: the outputs and the effects of their nodes, and their questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from runtime.events import Event
from runtime.events.calls import REQUEST_INPUT, call_ids, made_calls
from sessions_app.models import AnswerRequest, Invocation
from tests.chaos.conversation import Conversation, answered_by, is_answer
from tests.chaos.flow_site.agents import effects, expected_outputs

Effects = Counter[tuple[str, str]]


def check_workflows(orders: Sequence[str], conversation: Conversation) -> list[str]:
    """Check the workflow of each order, and that the open questions can be answered.

    Args:
        orders: client ids of the messages.
    """
    problems = list(_check_questions(conversation))
    counts = effects()
    for row in conversation.invocations:
        if row.client_id in orders:
            found = [*_check_outputs(row, conversation), *_check_effects(row, conversation, counts)]
            problems += [f"{row.client_id} ({row.invocation_id}) {problem}" for problem in found]
    return problems


def _check_questions(conversation: Conversation) -> Iterator[str]:
    pending = [made.call for made in made_calls(conversation.current) if made.is_pending]
    asked = {call.id for call in pending if call.name == REQUEST_INPUT}
    offers = AnswerRequest.objects.filter(session=conversation.session, tool_name=REQUEST_INPUT)
    offered = set(offers.values_list("call_id", flat=True))
    if asked != offered:
        yield f"the questions {asked} are open, the site offers {offered}"


def _check_outputs(row: Invocation, conversation: Conversation) -> Iterator[str]:
    """Check that in every version each node has ended once, with the expected output, and each call was made once.

    In the end all nodes have ended.
    """
    outputs: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for version in conversation.versions():
        events = [event for event in version if event.invocation_id == row.invocation_id]
        ends = [event for event in events if event.node_info and event.node_info.has_ended]
        outputs = {_path(event): _output(event, events) for event in ends}
        expected = _expected(row, events, conversation)
        if len(ends) > len(outputs):
            yield f"has a node that ended twice: {[_path(event) for event in ends]}"
        if any(path not in expected or expected[path] != output for path, output in outputs.items()):
            yield f"has the outputs {outputs}, not {expected}"
        calls = Counter(call.name for event in events for call in event.get_function_calls())
        if any(times > 1 for times in calls.values()):
            yield f"has repeated calls: {calls}"
        failures = [_path(event) for event in events if _has_failed(event)]
        if failures not in ([], ["flow@1/mail@1"]) or ("flow@1/mail@1" in outputs and not failures):
            yield f"has the failures {failures}"
    if row.status == "completed" and outputs.keys() != expected.keys() and not conversation.is_obsolete(row):
        yield f"is completed with the outputs {outputs}, not {expected}"


def _check_effects(row: Invocation, conversation: Conversation, counts: Effects) -> Iterator[str]:
    """Check that each effect has an end or a failure of its node, an attempt of its job, or an interruption."""
    events = conversation.events_of(row)
    calls = {call_id for event in events for call_id in call_ids(event)}
    rows = [other for other in conversation.invocations if other == row or answered_by(other) & calls]
    interruptions = sum(max(0, other.attempts - 1) for other in rows)
    # The last attempt of such a row ended within its nodes.
    interruptions += sum(other.status in ("cancelled", "failed") for other in rows)
    ended = Counter(_path(event) for event in events if event.node_info and event.node_info.has_ended)
    failed = Counter(_path(event) for event in events if _has_failed(event))
    for name in expected_outputs(row.client_id).keys() - {"obedient", "checked", "due"}:
        path = f"flow@1/{name}@1"
        most = max(1, ended[path]) + failed[path] + interruptions
        if name == "pay":
            payments = [job for job in conversation.jobs if job.call_id in calls and job.tool_name == "pay"]
            most = sum(job.attempts for job in payments)
        times = counts[row.client_id, name]
        if times > most or times < min(most, ended[path], 1):
            yield f"had the effect of {name} {times} times; {most} are explained by {interruptions} interruptions"


def _expected(row: Invocation, events: Sequence[Event], conversation: Conversation) -> dict[str, Any]:
    """Return the outputs of all nodes that end, by path."""
    expected = {f"flow@1/{name}@1": output for name, output in expected_outputs(row.client_id).items()}
    calls = {call_id for event in events for call_id in call_ids(event)}
    jobs = [job for job in conversation.jobs if job.call_id in calls and job.status == "cancelled"]
    # A rewind cancels a job; the switch back to its version brings its answer back.
    if row.invocation_id not in conversation.rewound:
        return expected
    for job in jobs:
        if job.tool_name == "pay":
            cancelled = {"status": "cancelled", "error": "The job was cancelled."}
            expected |= {"flow@1/pay@1": cancelled, "flow@1/due@1": cancelled}
        else:  # Nothing follows a cancelled wait.
            del expected["flow@1/due@1"], expected["flow@1/mail@1"]
    return expected


def _path(event: Event) -> str:
    return event.node_info.path if event.node_info else ""


def _has_failed(event: Event) -> bool:
    return event.node_info is not None and event.node_info.failed_attempts is not None


def _output(end: Event, events: Sequence[Event]) -> Any:
    """Return the output of a node: that of its last event, or the answer of its agent."""
    if end.node_info and end.node_info.message_as_output:
        return "".join(event.text() for event in events if _path(event) == _path(end) and is_answer(event))
    return end.output
