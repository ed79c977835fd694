"""People who use the site while its processes are killed: each performs random acts in its own session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from tests.chaos.acts import AnswerJob, AnswerQuestion, AwaitRejection, Confirm, Read, Say, StopJob, TurnBack
from tests.chaos.browser import Act, Browser
from tests.chaos.flow_site.agents import is_wanted
from tests.chaos.page import Page
from tests.chaos.staff import Staff

VERBS = (
    "say", "note", "keep", "work", "stop", "edit", "return", "confirm", "leave", "ask", "remind", "forget", "resist",
    "correct",
)  # fmt: skip
"""Kinds of acts; most are one message that begins with this word, which the obedient model follows."""
VERBS_OF_PROGRAMS = ("say", "note", "keep", "work", "leave", "remind")
"""Kinds of acts that need no more than messages."""
VERBS_OF_FLOWS = ("order", "order", "leave", "answer", "stop", "edit", "return", "correct")
"""Kinds of acts towards the workflow, for which each message is an order."""
VERBS_OF_FLOW_PROGRAMS = ("order", "leave", "answer")
DRAFTS = ("say", "note", "keep", "work", "delete", "ask", "remind")
"""First words of messages that are edited later."""
MESSAGES_A_SECOND = 12
"""Rate of all people together; with more, the workers could not keep up with the jobs."""


def verbs_of(*, is_flow: bool, is_program: bool) -> Sequence[str]:
    """Return the kinds of acts towards the workflow or the other agents, in a tab or by a program."""
    if is_program:
        return VERBS_OF_FLOW_PROGRAMS if is_flow else VERBS_OF_PROGRAMS
    return VERBS_OF_FLOWS if is_flow else VERBS


@dataclass
class Person:
    """A user with one session.

    Attributes:
        number: Number of the person, part of all its client ids.
        browser: The tab.
        staff: Corrects the state of the session.
        verbs: Kinds of its acts.
        random: Source of all choices.
        act: The act that is not done yet; empty between two acts.
        acts_done: Number of acts that are done.
        sent: Client ids of all messages.
        unedited: Client ids of the messages that were not edited, or whose version came back, in order.
        stopped: Client ids of the messages that the person stopped.
        corrected: Values that staff gave to the state, in order.
    """

    number: int
    browser: Browser
    staff: Staff
    verbs: Sequence[str]
    random: Random
    act: str = ""
    acts_done: int = 0
    sent: list[str] = field(default_factory=list)
    unedited: list[str] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)
    corrected: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The state of the person's tab."""
        return self.browser.page

    async def talk(
        self, verbs: Iterable[str], *, at_least: int, until: Callable[[], bool], pause: float
    ) -> None:
        """Perform the acts one by one.

        Args:
            verbs: Kinds of the acts.
            at_least: Minimal number of acts.
            until: Called after the minimal number; True ends the talk.
            pause: Mean of the seconds between two acts.
        """
        for number, verb in enumerate(verbs):
            if number >= at_least and until():
                return
            client_id = f"p{self.number}-m{number}"
            self.act = f"{client_id} ({verb})"
            await self._do(verb, client_id)
            self.act = ""
            self.acts_done += 1
            await asyncio.sleep(self.random.expovariate(1 / pause))

    async def read_to(self, seq: int) -> None:
        """Read the missing events up to `seq`."""
        self.act = f"reading up to event {seq}"
        await self.browser.do(Read(seq))
        self.act = ""

    async def _do(self, verb: str, client_id: str) -> None:
        match verb:
            case "stop":
                await self._stop(client_id)
            case "edit":
                await self._edit(client_id)
            case "return":
                await self._return(client_id)
            case "answer":
                await self._answer_left_question()
            case "correct":
                self.corrected.append(client_id)
                await self.staff.correct(self.browser.session_id, client_id)
            case "leave":
                await self._say(client_id, self.random.choice(("delete", "ask")))
            case _:
                await self._say(client_id, "delete" if verb == "confirm" else verb)
                act = self._act_after(verb, client_id)
                if act is not None:
                    await self.browser.do(act)

    def _act_after(self, verb: str, client_id: str) -> Act | None:
        """Return what the person does when the message's invocation has ended or waits."""
        match verb:
            case "confirm":
                return Confirm(client_id, confirmed=self.random.random() < 0.7)
            case "ask":
                return AnswerJob(client_id, answer=self.random.random() < 0.7)
            case "forget":
                return AwaitRejection(client_id)
            case "resist":
                return StopJob(client_id)
            case "order":
                return AnswerQuestion(client_id, confirmed=is_wanted(client_id))
            case _:
                return None

    async def _answer_left_question(self) -> None:
        """Answer the question of an earlier order, or one whose answer was rewound."""
        questions = self.page.open_questions()
        left = [
            (client_id, call_id)
            for client_id in self.unedited
            for call_id, invocation_id in questions.items()
            if self.page.invocations[client_id].id == invocation_id
        ]
        if left:
            client_id, call_id = self.random.choice(left)
            answers = self.page.count_answers(call_id)
            act = AnswerQuestion(client_id, confirmed=is_wanted(client_id), answers_before=answers)
            await self.browser.do(act)

    async def _stop(self, client_id: str) -> None:
        self.stopped.add(client_id)
        stop_at: Literal["start", "word"] = self.random.choice(("start", "word"))
        await self._say(
            client_id, self.random.choice(("say", "say", "note", "work", "delete")), stop_at=stop_at
        )

    async def _return(self, client_id: str) -> None:
        """Replace a message, then turn back to its earlier version."""
        before = [*self.unedited, f"{client_id}-draft"]
        replaced = await self._edit(client_id)
        await self.browser.do(TurnBack(self.page.message_seq(replaced)))
        self.unedited = before

    async def _edit(self, client_id: str) -> str:
        """Send a message, then replace it or the message before it; return the invocation that was replaced."""
        await self._say(f"{client_id}-draft", self.random.choice(DRAFTS))
        editable = [index for index, sent in enumerate(self.unedited) if sent not in self.stopped]
        index = self.random.choice(editable[-2:])
        replaces = self.page.invocations[self.unedited[index]].id
        del self.unedited[index:]
        await self._say(client_id, "say", replaces=replaces)
        return replaces

    async def _say(
        self, client_id: str, word: str, *, replaces: str = "", stop_at: Literal["", "start", "word"] = ""
    ) -> None:
        self.sent.append(client_id)
        self.unedited.append(client_id)
        await self.browser.do(Say(client_id, f"{word} {client_id}", replaces=replaces, stop_at=stop_at))
