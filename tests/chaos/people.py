"""People who talk through it all: each does one thing after the other in a session of its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.acts import AnswerJob, Confirm, Read, Say
from tests.chaos.browser import Browser
from tests.chaos.page import Page

VERBS = ("say", "note", "work", "stop", "edit", "confirm", "leave", "ask", "remind")
"""What people do; most of it is one message, with this word for the model."""
DRAFTS = ("say", "note", "work", "delete", "ask", "remind")
MESSAGES_A_SECOND = 12
"""More than that they do not say, all together: the jobs that they ask for have to be done, too."""


@dataclass
class Person:
    """One who talks.

    Attributes:
        said: the client ids of all messages.
        standing: those that were not edited away, in order.
        stopped: those that were to be stopped.
        patience: after so many seconds something must have come of what was said.
    """

    number: int
    browser: Browser
    chance: random.Random
    patience: float
    said: list[str] = field(default_factory=list)
    standing: list[str] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)

    @property
    def page(self) -> Page:
        """What the browser shows."""
        return self.browser.page

    async def talk(
        self, verbs: Iterable[str], *, at_least: int, until: Callable[[], bool], pause: float
    ) -> None:
        """Do one thing after the other, so many at least, with a pause of so many seconds in the mean.

        Raises:
            TimeoutError: nothing became of one of them; names it.
        """
        for number, verb in enumerate(verbs):
            if number >= at_least and until():
                return
            client_id = f"p{self.number}-m{number}"
            try:
                async with asyncio.timeout(self.patience):
                    await self._do(verb, client_id)
            except TimeoutError as error:
                raise TimeoutError(
                    f"{client_id} ({verb}) has come to no end within {self.patience:.0f} seconds. "
                    f"Known: {self.page.invocations}, up to event {self.page.seq}"
                ) from error
            await asyncio.sleep(self.chance.expovariate(1 / pause))

    async def read_to(self, seq: int) -> None:
        """Read what is missing, up to `seq`."""
        async with asyncio.timeout(self.patience):
            await self.browser.do(Read(seq))

    async def _do(self, verb: str, client_id: str) -> None:
        match verb:
            case "stop":
                await self._stop(client_id)
            case "edit":
                await self._edit(client_id)
            case "confirm":
                await self._say(client_id, "delete")
                await self.browser.do(Confirm(client_id, confirmed=self.chance.random() < 0.7))
            case "ask":
                await self._say(client_id, "ask")
                await self.browser.do(AnswerJob(client_id, answer=self.chance.random() < 0.7))
            case "leave":
                await self._say(client_id, self.chance.choice(("delete", "ask")))
            case _:
                await self._say(client_id, verb)

    async def _stop(self, client_id: str) -> None:
        self.stopped.add(client_id)
        stop_at: Literal["start", "word"] = self.chance.choice(("start", "word"))
        await self._say(
            client_id, self.chance.choice(("say", "say", "note", "work", "delete")), stop_at=stop_at
        )

    async def _edit(self, client_id: str) -> None:
        """Say something, then something else in its place, or in place of what was said before it."""
        await self._say(f"{client_id}-draft", self.chance.choice(DRAFTS))
        in_the_log = [index for index, known in enumerate(self.standing) if known not in self.stopped]
        index = self.chance.choice(in_the_log[-2:])
        replaces = self.page.invocations[self.standing[index]].id
        del self.standing[index:]
        await self._say(client_id, "say", replaces=replaces)

    async def _say(
        self, client_id: str, word: str, *, replaces: str = "", stop_at: Literal["", "start", "word"] = ""
    ) -> None:
        self.said.append(client_id)
        self.standing.append(client_id)
        await self.browser.do(Say(client_id, f"{word} {client_id}", replaces=replaces, stop_at=stop_at))
