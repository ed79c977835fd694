"""Contract: `manage.py adk_chat` is the person's conversation with an agent, on a terminal and in a pipe."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.agent_apps import registry
from sessions_app.models import Event, InvocationStatus, Session, ToolJob
from tests.forked_program import ForkServer
from tests.integration.jobs.job_helpers import run_queue, run_task
from tests.integration.management.terminal import ESCAPES, Terminal, site_environment

Manage = Callable[..., subprocess.CompletedProcess[str]]


Chat = Callable[..., Terminal]


@pytest.fixture
def chat(fork_server: ForkServer) -> Chat:
    """Function that returns a terminal in which a person talks to the clerk."""
    return lambda **more: Terminal(fork_server, "adk_chat", "clerk", environment=site_environment(**more))


def texts_of(person: User) -> list[Any]:
    events = Event.objects.filter(session__user=person, body__author="user").order_by("pk")
    parts = [part for event in events for part in event.body["content"]["parts"]]
    return [part.get("text") or part["functionResponse"]["response"] for part in parts]


def test_a_person_talks_approves_chooses_and_leaves(chat: Chat, person: User) -> None:
    with chat() as terminal:
        terminal.expect(r"clerk, as ada\. .*\nyou>")
        terminal.paste("one\ntwo — größer 💡")
        terminal.type("\r")
        terminal.expect("Clerk: You said one\ntwo — größer 💡\n")

        terminal.expect("you>")
        terminal.type("delete\r")
        terminal.expect(r"Delete notes\.txt\n.*\n  Name: notes\.txt\nApproval: Delete notes\.txt\? \[y/n\]")
        terminal.type("perhaps\r")
        terminal.expect("Enter one of y/n")
        terminal.type("y\r")
        terminal.expect(r"Clerk: The result is \{'deleted': 'notes\.txt'\}\.")

        terminal.expect("you>")
        terminal.type("choose\r")
        terminal.expect(r"  1  tea\n  2  coffee\nYour choice \[1-2\]")
        terminal.type("3\r")
        terminal.expect("Enter a number from 1 to 2")
        terminal.type("2\r")
        terminal.expect("Clerk: The result is .*coffee")

        terminal.expect("you>")
        terminal.type("\x04")
        session = Session.objects.get(user=person)
        terminal.expect(rf"To go on: manage\.py adk_chat clerk --session {session.pk}\n")
        assert terminal.end() == 0
    assert texts_of(person) == [
        "one\ntwo — größer 💡",
        "delete",
        {"confirmed": True, "payload": None},
        "choose",
        {"result": "coffee"},
    ]
    assert session.app_name == "clerk" and session.lease_owner == ""


def test_ctrl_c_stops_the_answer_and_a_second_one_leaves(chat: Chat, person: User) -> None:
    with chat() as terminal:
        terminal.expect("you>")
        terminal.type("long\r")
        terminal.expect("Clerk: word word word")
        terminal.type("\x03")
        terminal.expect("Stopping; Ctrl-C once more leaves")
        terminal.expect("Stopped\n")
        terminal.expect("you>")
        terminal.type("draft\x03")  # drops the text
        terminal.expect("you>")
        terminal.type("\x03")
        terminal.expect("To go on")
        assert terminal.end() == 0
    statuses = list(Session.objects.get().invocations.values_list("status", flat=True))
    assert statuses == [InvocationStatus.CANCELLED]
    assert terminal.text.count("Clerk:") == 1  # what was streamed is not repeated


def test_an_interrupt_between_two_prompts_leaves_as_at_the_prompt(chat: Chat, person: User) -> None:
    with chat() as terminal:
        terminal.expect("you>")
        terminal.process.send_signal(signal.SIGINT)  # as the terminal sends it while no prompt reads its keys
        assert terminal.end() == 0


def test_a_command_that_gets_sigterm_hands_its_answer_over(chat: Chat, person: User) -> None:
    with chat() as terminal:
        terminal.expect("you>")
        terminal.type("long\r")
        terminal.expect("Clerk: word word word")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.expect("To go on")
        assert terminal.end() == 130
    session = Session.objects.get()
    assert session.lease_owner == ""
    assert session.invocations.get().status == InvocationStatus.QUEUED


def test_the_news_of_a_job_come_while_the_person_types(
    clerk: Path, chat: Chat, person: User, background_end: None
) -> None:
    registry.apps()  # registers the task of the job
    with chat() as terminal:
        terminal.expect("you>")
        terminal.type("bake\r")
        terminal.expect("Bake: queued")
        terminal.expect("you>")
        terminal.type("and then")
        terminal.expect("and then")
        run_task(ToolJob.objects.get())
        terminal.expect(r"Bake asks: Which icing\?\n")
        terminal.expect("Your answer:")
        terminal.type("sugar\r")
        terminal.expect("you> ?and then")  # the draft is back
        run_task(ToolJob.objects.get())
        run_queue(Session.objects.get().pk)
        terminal.expect("Clerk: The result is .*a cake with sugar")
        terminal.expect("you> ?and then")
        terminal.type("\x03")
        terminal.expect("you>")
        assert terminal.leave() == 0


def test_an_agent_cannot_control_the_terminal(chat: Chat, person: User) -> None:
    with chat() as terminal:
        terminal.expect("you>")
        terminal.type("control\r")
        terminal.expect(r"Clerk: \\u001b\]0;owned\\u0007\\u001b\[2J\\u202eevil\nover")
        terminal.expect("you>")
    assert "\x1b]0;owned" not in terminal.raw and "\u202e" not in terminal.raw


def test_a_pipe_has_no_colour_and_goes_on_with_an_earlier_session(person: User, manage: Manage) -> None:
    first = manage("adk_chat", "clerk", stdin="hello\n\nGrüße")
    assert (first.returncode, first.stderr) == (0, "")
    assert not ESCAPES.search(first.stdout)
    assert "you> hello\nClerk: You said hello\nyou> \nyou> Grüße\nClerk: You said Grüße\n" in first.stdout
    again = manage("adk_chat", "clerk", "--session", str(Session.objects.get().pk), stdin="delete\nn\n")
    assert "ada: hello\nClerk: You said hello\n" in again.stdout
    assert "Approval: Delete notes.txt? [y/n] n\n" in again.stdout
    assert texts_of(person)[-2:] == ["delete", {"confirmed": False}]
    assert Session.objects.count() == 1


def test_a_terminal_without_colour_has_none(chat: Chat, person: User) -> None:
    with chat(NO_COLOR="1") as terminal:
        terminal.expect("you>")
        terminal.type("delete\r")
        terminal.expect(r"\[y/n\]")
    assert not [code for code in ESCAPES.findall(terminal.raw) if code.endswith("m") and code != "\x1b[0m"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody"], "There is no app 'nobody'. The apps of this site: "),
        (["clerk", "--user", "bob"], "There is no user 'bob'."),
        (
            ["clerk", "--session", "00000000-0000-4000-8000-000000000000"],
            "There is no such chat here.",
        ),
    ],
)
def test_a_refusal_is_one_sentence(arguments: list[str], sentence: str, person: User, manage: Manage) -> None:
    refused = manage("adk_chat", *arguments)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"CommandError: {sentence}") and refused.stderr.count("\n") == 1
    assert Session.objects.count() == 0


def test_a_deleted_conversation_of_somebody_else_is_not_found(person: User, manage: Manage) -> None:
    session = Session.objects.create(app_name="clerk", user=person, key="k", deleted_at=timezone.now())
    User.objects.create_user("bob")
    for name in ("ada", "bob"):
        refused = manage("adk_chat", "clerk", "--session", str(session.pk), "--user", name)
        assert refused.stderr == "CommandError: There is no such chat here.\n"
    unnamed = manage("adk_chat", "clerk")
    assert "Name the user whose conversation it is: --user NAME, such as ada, bob." in unnamed.stderr
