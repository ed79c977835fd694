"""What must be true of calls that are answered later: jobs, confirmations, scheduled tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runtime.events import Event
from runtime.events.calls import call_ids, response_ids
from sessions_app.client_ids import of_schedule
from sessions_app.models import ScheduledTask
from tests.chaos.conversation import Conversation, is_run_of


def check_answers_to_calls(conversation: Conversation) -> list[str]:
    """At no time did a call count that was answered twice from outside, or an answer whose call did not count."""
    problems = []
    for events in conversation.versions():
        answers, calls = _answers(events), {call_id for event in events for call_id in call_ids(event)}
        problems += [f"call {id} was answered {times} times" for id, times in answers.items() if times > 1]
        problems += [f"call {id} does not count, but its answer does" for id in answers.keys() - calls]
    return problems


def check_jobs(conversation: Conversation) -> list[str]:
    """Each whose call counts was answered once, unless it waits for the person; the others are at their end."""
    problems = []
    answers = _answers(conversation.counting)
    for job in conversation.jobs:
        asks = job.status == "waiting" and job.question is not None
        expected = 1 if job.call_id in conversation.calls and not asks else 0
        if answers[job.call_id] != expected:
            problems.append(
                f"job {job.id} {job.status} was answered {answers[job.call_id]} times, not {expected}"
            )
        if not (job.is_ended or (asks and job.call_id in conversation.calls)):
            problems.append(f"job {job.id} is {job.status}")
    return problems


def check_tasks(conversation: Conversation) -> list[str]:
    """Each came as often as it was to, once for each time; one that was edited away has been called off."""
    return [
        f"task {task.pk} {problem}"
        for task in conversation.tasks
        for problem in (*_status(task, conversation), *_runs(task, conversation))
    ]


def _status(task: ScheduledTask, conversation: Conversation) -> list[str]:
    match task.status:
        case "over":
            is_done = task.runs == task.most_runs
            return [] if is_done else [f"is over after {task.runs} of {task.most_runs} times"]
        case "cancelled":
            is_wanted = task.invocation_id in conversation.undone
            return [] if is_wanted else ["was called off, but nobody wanted that"]
        case _:
            return [f"is still to come at {task.next_at}"]


def _runs(task: ScheduledTask, conversation: Conversation) -> list[str]:
    """While a task is being called off one more run may begin, which it does not count."""
    runs = [row for row in conversation.invocations if is_run_of(task, row)]
    expected = [of_schedule(task.pk, run) for run in range(1, task.runs + 1)]
    one_more = [*expected, of_schedule(task.pk, task.runs + 1)] if task.status == "cancelled" else expected
    problems = []
    if (begun := [row.client_id for row in runs]) not in (expected, one_more):
        problems.append(f"came {task.runs} times, and began {begun}")
    counting = {event.invocation_id for event in conversation.counting}
    if task.invocation_id not in counting and sum(row.invocation_id in counting for row in runs) > 1:
        problems.append("was edited away, and came again and again")
    return problems


def _answers(events: Sequence[Event]) -> Counter[str]:
    """How often calls were answered from outside."""
    return Counter(call_id for event in events if event.author == "user" for call_id in response_ids(event))
