"""Contract: `manage.py adk_run` gives scripts one answer, its events as JSON Lines, and an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT
from sessions_app.models import Invocation, InvocationStatus, Session
from tests.integration.management.terminal import site_environment

Manage = Callable[..., subprocess.CompletedProcess[str]]


def outcome(run: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return run.returncode, run.stdout


def test_the_answer_is_written_and_a_session_goes_on(person: User, manage: Manage) -> None:
    assert outcome(manage("adk_run", "clerk", "hello")) == (0, "You said hello\n")
    session = Session.objects.get()
    again = manage("adk_run", "clerk", "-", "--session", str(session.pk), stdin="Grüße\n💡\0")
    assert outcome(again) == (0, "You said Grüße\n💡\ufffd\n")
    assert session.invocations.count() == 2


def test_events_are_lines_of_json(person: User, clerk: Path) -> None:
    """Starts Python anew, as a script does; the other tests fork a process that has imported the site."""
    command = [sys.executable, "manage.py", "adk_run", "clerk", "hello\u202e", "--json"]
    environment = site_environment(AGENT_DIRS=str(clerk))
    run = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=120)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, run.stderr) == (0, "")
    assert [event["author"] for event in events] == ["user", "clerk"]
    assert events[1]["content"]["parts"] == [{"text": "You said hello\u202e"}]
    assert {event["invocationId"] for event in events} == {Invocation.objects.get().invocation_id}


def test_the_exit_code_tells_how_it_ended(person: User, manage: Manage) -> None:
    waiting = manage("adk_run", "clerk", "delete")
    assert (waiting.returncode, waiting.stdout) == (3, "")
    assert waiting.stderr == f"Waiting for an answer: session {Session.objects.get().pk}.\n"

    failed = manage("adk_run", "clerk", "fail", "-v", "0")
    assert outcome(failed) == (1, "")
    assert "Traceback" not in failed.stderr.splitlines()[-1]

    late = manage("adk_run", "clerk", "long", "--timeout", "1")
    assert outcome(late) == (124, "")
    assert late.stderr.startswith("Stopped after 1 s: session ")
    assert Invocation.objects.latest("pk").status == InvocationStatus.CANCELLED


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["clerk", " "], 1, "CommandError: The message is empty. Write something first."),
        (["clerk", "x" * 100_000], 1, "CommandError: The message has 100000 characters; the limit is"),
        (["clerk", "hello", "--timeout", "nan"], 2, "argument --timeout: 'nan' is no number of seconds"),
        (["clerk", "hello", "--session", "items"], 2, "argument --session: invalid UUID value: 'items'"),
    ],
)
def test_input_that_cannot_be_used_is_refused(
    arguments: list[str], code: int, sentence: str, person: User, manage: Manage
) -> None:
    refused = manage("adk_run", *arguments)
    assert outcome(refused) == (code, "")
    assert sentence in refused.stderr and "Traceback" not in refused.stderr
    assert Session.objects.count() == 0
