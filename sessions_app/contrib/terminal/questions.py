"""Questions of a session to its user: approvals, choices, and questions of jobs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any
from uuid import UUID

from runtime.events.calls import CHOICE_TOOL, REQUEST_CONFIRMATION, made_calls
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.history.effective_events import effective_events
from sessions_app.invocations.answers.form_answers import ConfirmationForm, FormAnswer, OptionForm
from sessions_app.models import JobStatus, Session, ToolJob
from sessions_app.process.threads import fetch_rows
from sessions_app.rendering.blocks import ConfirmationRequestBlock, blocks_of
from sessions_app.rendering.outline import as_words
from sessions_app.rendering.questions import ChoiceBlock, CredentialRequestBlock, Field
from sessions_app.rendering.session_view import SessionView
from sessions_app.sessions.ownership import User

Ask = Callable[[str], Awaitable[str]]
"""Asks the user for a line."""
Say = Callable[[str], Awaitable[None]]
"""Shows the user a line."""
CallQuestion = ConfirmationRequestBlock | ChoiceBlock | CredentialRequestBlock
YES, NO = {"y", "yes"}, {"n", "no"}


@dataclass(frozen=True)
class Asker:
    """Asks the user of a terminal, and writes to it."""

    ask: Ask
    say: Say

    async def choose(self, question: str, options: list[str]) -> int:
        """Return the index of the option that the user chooses."""
        for number, option in enumerate(options, 1):
            await self.say(f"  {number}  {option}")
        while True:
            answer = (await self.ask(f"{question} [1-{len(options)}] ")).strip()
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return int(answer) - 1
            if answer in options:
                return options.index(answer)
            await self.say(f"Enter a number from 1 to {len(options)}.")

    async def decide(self, question: str, *, more: str = "") -> str:
        """Return `y`, `n`, or `more` if the user enters this word or its first letter."""
        letters = f"y/n/{more[0]}" if more else "y/n"
        while True:
            answer = (await self.ask(f"{question} [{letters}] ")).strip().lower()
            if answer in YES or answer in NO:
                return answer[0]
            if more and answer in (more, more[0]):
                return more
            await self.say(f"Enter one of {letters}.")


async def waiting_questions(session: Session, view: SessionView) -> list[CallQuestion]:
    """Return the questions of pending calls that the user may answer, oldest first."""
    found: list[CallQuestion] = []
    for made in made_calls(await effective_events(session)):
        if made.is_pending:
            for block in blocks_of(view, made.event, {}):
                if isinstance(block, ConfirmationRequestBlock) and block.staff_decide:
                    continue
                if isinstance(block, CallQuestion) and block.call_id == made.call.id:
                    found.append(block)
    return found


async def asking_jobs(session_id: UUID) -> list[ToolJob]:
    """Return the session's jobs that wait for an answer, oldest first."""
    waiting = ToolJob.objects.filter(session=session_id, status=JobStatus.WAITING)
    return await fetch_rows(waiting.defer("result", "args").order_by("created_at", "pk"))


async def answer_call(asker: Asker, user: User, session_id: UUID, question: CallQuestion) -> None:
    """Ask the question of a call, and answer the call. For a credential, only refer to the page."""
    # A terminal keeps what is typed, in its scrollback and in recordings.
    name = ""
    response: FormAnswer | None = None
    match question:
        case CredentialRequestBlock():
            await asker.say(f"{question.title}: give it on the page of this conversation.")
        case ChoiceBlock():
            name = CHOICE_TOOL
            response = OptionForm(await asker.choose("Your choice", question.options))
        case ConfirmationRequestBlock():
            name = REQUEST_CONFIRMATION
            response = await _approval(asker, question)
    if response is not None:
        await use_cases.answer_call(actors.person(user), session_id, question.call_id, name, response)


async def _approval(asker: Asker, question: ConfirmationRequestBlock) -> ConfirmationForm:
    for argument in question.args:
        await asker.say(f"  {argument.label}: {argument.text}")
    more = "always" if question.offers_allowance else ""
    words = question.hint or f"{question.words.plain}?"
    verdict = await asker.decide(f"Approval: {words}", more=more)
    if verdict == "n":
        return ConfirmationForm(False)
    values = [(field.name, await _value_of(asker, field)) for field in question.fields]
    changes = {name: value for name, value in values if value is not None}
    return ConfirmationForm(True, changes, for_session=verdict == "always")


async def answer_job(asker: Asker, user: User, job: ToolJob) -> None:
    """Ask the question of a job, and send the answer."""
    question: dict[str, Any] = job.question or {}
    await asker.say(f"{as_words(job.tool_name)} asks: {question['text']}")
    answer: bool | str
    if question["kind"] == "confirm":
        answer = await asker.decide("Your answer") == "y"
    elif question["kind"] == "choice":
        options = question["options"]
        answer = options[await asker.choose("Your choice", options)]
    else:
        answer = await asker.ask("Your answer: ")
    await use_cases.answer_job(actors.person(user), job.session_id, job.pk, len(job.answers), answer)


async def _value_of(asker: Asker, field: Field) -> bool | float | str | None:
    """Return the new value for a field of a payload; None if the user keeps the value by an empty line."""
    if field.type == "checkbox":
        return await asker.decide(field.label) == "y"
    while True:
        entered = (await asker.ask(f"{field.label} [{field.value}] ")).strip()
        if not entered:
            return None
        if field.type != "number":
            return entered
        number = _number(entered)
        if number is not None:
            return number
        await asker.say("Enter a number.")


def _number(text: str) -> float | None:
    for kind in (int, float):
        try:
            number = kind(text)
            return number if isfinite(number) else None
        except (ValueError, OverflowError):  # OverflowError: `isfinite` of an integer beyond all floats
            continue
    return None
