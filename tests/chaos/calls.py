"""Checks of calls that are answered later: jobs, confirmations, scheduled tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runtime.events import Event
from runtime.events.calls import call_ids, response_ids
from sessions_app.base.client_ids import of_schedule
from sessions_app.models import ScheduledTask
from tests.chaos.conversation import Conversation, is_run_of


def check_answers_to_calls(conversation: Conversation) -> list[str]:
    """Check that in every version of the history no call has two outside answers, and no answer lacks its call."""
    problems = []
    for events in conversation.versions():
        answers, calls = _answers(events), {call_id for event in events for call_id in call_ids(event)}
        problems += [f"call {id} was answered {times} times" for id, times in answers.items() if times > 1]
        problems += [f"call {id} is rewound, but its answer is not" for id in answers.keys() - calls]
    return problems


def check_jobs(conversation: Conversation) -> list[str]:
    """Check that jobs are finished, and answered once unless their call is rewound.

    A job whose question the person left unanswered may still wait, without an answer.
    """
    problems = []
    answers = _answers(conversation.current)
    for job in conversation.jobs:
        is_asking = job.status == "waiting" and job.question is not None
        expected = 1 if job.call_id in conversation.calls and not is_asking else 0
        if answers[job.call_id] != expected:
            problems.append(
                f"job {job.id} {job.status} was answered {answers[job.call_id]} times, not {expected}"
            )
        if not (job.is_ended or (is_asking and job.call_id in conversation.calls)):
            problems.append(f"job {job.id} is {job.status}")
    return problems


def check_tasks(conversation: Conversation) -> list[str]:
    """Check that each task fired once for each scheduled run, or was cancelled by a rewind."""
    return [
        f"task {task.pk} {problem}"
        for task in conversation.tasks
        for problem in (*_status(task, conversation), *_runs(task, conversation))
    ]


def _status(task: ScheduledTask, conversation: Conversation) -> list[str]:
    match task.status:
        case "over":
            is_done = task.runs == task.most_runs
            return [] if is_done else [f"is over after {task.runs} of {task.most_runs} runs"]
        case "cancelled":
            is_rewound = task.invocation_id in conversation.rewound
            return [] if is_rewound else ["was cancelled without a rewind"]
        case _:
            return [f"is still scheduled for {task.next_at}"]


def _runs(task: ScheduledTask, conversation: Conversation) -> list[str]:
    """Check the invocations of a task. During its cancellation one more run may start, which it does not count."""
    runs = [row for row in conversation.invocations if is_run_of(task, row)]
    expected = [of_schedule(task.pk, run) for run in range(1, task.runs + 1)]
    one_more = [*expected, of_schedule(task.pk, task.runs + 1)] if task.status == "cancelled" else expected
    problems = []
    if (started := [row.client_id for row in runs]) not in (expected, one_more):
        problems.append(f"counts {task.runs} runs, but started {started}")
    current = {event.invocation_id for event in conversation.current}
    if task.invocation_id not in current and sum(row.invocation_id in current for row in runs) > 1:
        problems.append("was rewound, but fired more than once afterwards")
    return problems


def _answers(events: Sequence[Event]) -> Counter[str]:
    """Count the function responses from outside (author `user`) by call id."""
    return Counter(call_id for event in events if event.author == "user" for call_id in response_ids(event))
