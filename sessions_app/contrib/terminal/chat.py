"""Chat in a terminal: read messages, show what follows from them, and ask the questions of agents.

    prompt --- message ---> settle: show updates until nothing runs --- question ---> ask it, settle again
       ^                          `--- nothing to ask ---.
       `--------------------------------------------------'

While the prompt waits, updates may come from elsewhere, such as a job or another browser. The prompt is then
withdrawn with the draft, the updates are shown, and the prompt comes back with the draft.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from runtime.errors import AdkError
from sessions_app.contrib.terminal.conversation import Conversation
from sessions_app.contrib.terminal.display import Display
from sessions_app.contrib.terminal.prompts import LeaveError, Prompt, WithdrawnError
from sessions_app.contrib.terminal.questions import (
    Asker,
    answer_call,
    answer_job,
    asking_jobs,
    waiting_questions,
)
from sessions_app.contrib.terminal.screen import Screen
from sessions_app.history.effective_events import effective_events
from sessions_app.live.notices import InvocationNotice, JobNotice
from sessions_app.live.updates import EventUpdate, NoticeUpdate, TextUpdate, Update

PROMPT = "you> "
EVENTS_AT_FIRST = 8
"""Events of an earlier conversation to show at the start."""


class TerminalChat:
    """A chat in a terminal. Ctrl-C stops an answer; a second Ctrl-C, or Ctrl-C at an empty prompt, leaves.

    Args:
        make_prompt: makes the prompt; its argument returns the line to show below the prompt.

    Attributes:
        was_left: True if no answer was running at the last `interrupt`.
    """

    was_left = False

    def __init__(
        self,
        conversation: Conversation,
        screen: Screen,
        display: Display,
        make_prompt: Callable[[Callable[[], str]], Prompt],
    ) -> None:
        self._conversation = conversation
        self._screen = screen
        self._display = display
        self._prompt = make_prompt(display.running_jobs)
        self._asker = Asker(self._ask, self._say)
        self._asked: set[str] = set()
        self._is_following = self._is_stopping = False
        self._stopping: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Talk until the user leaves."""
        if not self._conversation.is_new:
            for event in (await effective_events(await self._conversation.session()))[-EVENTS_AT_FIRST:]:
                await self._display.show_event(event)
            await self._settle()
        while True:
            try:
                text = await self._next_message()
            except LeaveError:
                return
            if text.strip():
                await self._send(text)

    def interrupt(self) -> bool:
        """Stop the running answer. Return False if the user leaves: nothing runs, or it is being stopped already."""
        self.was_left = not self._is_following
        if self._is_stopping or not self._is_following:
            return False
        self._is_stopping = True
        # Kept: the event loop has only weak references to tasks.
        self._stopping = asyncio.create_task(self._stop())
        return True

    async def _stop(self) -> None:
        await self._screen.line("  Stopping; Ctrl-C once more leaves.", colour="yellow")
        await self._conversation.stop()

    async def _send(self, text: str) -> None:
        try:
            invocation_id = await self._conversation.send(text)
        except AdkError as error:
            await self._screen.line(f"{error}", colour="red")
            return
        self._display.leave_out_message(invocation_id)
        await self._settle()

    async def _next_message(self) -> str:
        """Return the text that the user enters. Updates that arrive while the user types are shown above the prompt."""
        draft = ""
        while True:
            reading = asyncio.create_task(self._prompt.ask(PROMPT, draft))
            try:
                await self._show_until(reading)
                return await reading
            except WithdrawnError as taken:
                draft = taken.draft
            finally:
                reading.cancel()
                await asyncio.wait({reading})
            await self._settle()

    async def _show_until(self, reading: asyncio.Task[str]) -> None:
        """Show updates until the user has entered something."""
        conversation = self._conversation
        while not reading.done():
            arrival = asyncio.create_task(conversation.wait_for_news())
            await asyncio.wait({reading, arrival}, return_when=asyncio.FIRST_COMPLETED)
            arrival.cancel()
            if reading.done():
                return
            news = [update async for update in conversation.arrived()]
            # Text written under an open prompt would mix with the line that the user edits.
            if any(map(self._is_worth_seeing, news)) and self._prompt.withdraw():
                await asyncio.wait({reading})
            for update in news:
                await self._display.show(update)
            self._prompt.redraw()

    def _is_worth_seeing(self, update: Update) -> bool:
        match update:
            case NoticeUpdate(notice=JobNotice() as job):
                known = self._display.jobs.get(job.id)
                return known is None or known.status != job.status
            case NoticeUpdate(notice=InvocationNotice() as invocation):
                return invocation.is_active
            case TextUpdate():
                return not update.chunk.stream.thought
            case _:
                return isinstance(update, EventUpdate)

    async def _settle(self) -> None:
        """Show updates until nothing runs, then ask new questions. Repeat until there is no new question."""
        has_asked = True
        while has_asked:
            self._is_following = True
            try:
                async for news in self._conversation.news():
                    await self._display.show(news)
            finally:
                self._is_following = self._is_stopping = False
            await self._screen.end_line()
            has_asked = await self._ask_questions()

    async def _ask_questions(self) -> bool:
        """Ask the new questions of the session's calls and jobs. Return False if there are none."""
        conversation = self._conversation
        has_asked = False
        session = await conversation.session()
        for question in await waiting_questions(session, self._display.view):
            if question.call_id not in self._asked:
                has_asked = True
                # Before the answer: a question left open is not asked again.
                self._asked.add(question.call_id)
                await self._answer(answer_call(self._asker, conversation.user, session.pk, question))
        for job in await asking_jobs(session.pk):
            key = f"{job.pk} {len(job.answers)}"
            if key not in self._asked:
                has_asked = True
                self._asked.add(key)
                await self._answer(answer_job(self._asker, conversation.user, job))
        return has_asked

    async def _answer(self, answering: Coroutine[Any, Any, None]) -> None:
        """Ask a question and send the answer, unless the user leaves the question open."""
        try:
            await answering
        except LeaveError:
            await self._say("The question stays open; answer it on the page of this conversation.")
        except AdkError as error:  # The question may have been answered elsewhere in the meantime.
            await self._screen.line(f"{error}", colour="red")

    async def _ask(self, label: str) -> str:
        return await self._prompt.ask(label)

    async def _say(self, text: str) -> None:
        await self._screen.line(text, colour="yellow")
