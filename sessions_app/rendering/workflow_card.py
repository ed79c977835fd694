"""Steps of a workflow as a card: rows of steps, and those that may run at once side by side."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby

from django.utils.timezone import localtime
from django.utils.translation import gettext, gettext_lazy

from runtime.workflow.progress import OPEN_STATES, NodeProgress, NodeState, WorkflowProgress
from sessions_app.agent_apps.loading.faces import Face
from sessions_app.history.workflow_progress import InvocationProgress, load_progress
from sessions_app.models import Session
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.outline import as_words, outline
from sessions_app.secrets.masking import mask_keys

logger = logging.getLogger(__name__)
logger.addFilter(once)
STATE_WORDS = {
    NodeState.PENDING: gettext_lazy("Not begun"),
    NodeState.RUNNING: gettext_lazy("Running"),
    NodeState.RETRYING: gettext_lazy("Trying again"),
    NodeState.WAITING: gettext_lazy("Waiting for you"),
    NodeState.IN_BACKGROUND: gettext_lazy("In the background"),
    NodeState.DONE: gettext_lazy("Done"),
    NodeState.FAILED: gettext_lazy("Failed"),
    NodeState.STOPPED: gettext_lazy("Stopped"),
    NodeState.SKIPPED: gettext_lazy("Skipped"),
}
WAITING_UNTIL = gettext_lazy("Waiting until {time}")
MAX_ROWS = 30
"""Largest number of rows of a card; of a longer workflow, the last rows are shown."""
MAX_INNER_STEPS = 20
"""Largest number of steps shown below a step."""
MAX_OUTPUT_LENGTH = 1_000


@dataclass(frozen=True)
class StepView:
    """A step for the template.

    Attributes:
        output: the output as text, shortened.
        inner: the first steps below it.
        hidden: number of the steps below it that are not shown.
    """

    name: str
    state: str
    words: str
    waits_until: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    attempts: int
    output: str
    inner: "list[StepView]"
    hidden: int

    @property
    def duration(self) -> str:
        """Time from begin to end, in words; empty while either is unknown."""
        if self.began_at is None or self.ended_at is None:
            return ""
        seconds = max(0, round((self.ended_at - self.began_at).total_seconds()))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        if hours:
            return gettext("{hours} h {minutes} min").format(hours=hours, minutes=minutes)
        if minutes:
            return gettext("{minutes} min {seconds} s").format(minutes=minutes, seconds=seconds)
        return gettext("{seconds} s").format(seconds=seconds)

    @property
    def has_time(self) -> bool:
        """True for a step whose duration is known, or still grows."""
        is_open = self.state in OPEN_STATES
        return self.began_at is not None and (is_open or self.ended_at is not None)


@dataclass(frozen=True)
class StepCard:
    """A run of a workflow for the template.

    Attributes:
        rows: the last rows of its steps.
        hidden: number of the earlier steps.
        current: the step to name in one line; None when nothing is open or failed.
        done: number of steps that are done.
        count: number of steps that are not skipped.
    """

    workflow: StepView
    face: Face
    path: str
    rows: list[list[StepView]]
    hidden: int
    current: StepView | None
    done: int
    count: int
    is_open: bool


@dataclass(frozen=True)
class CardMaker:
    """Makes the cards of an app's workflows for one kind of page.

    Attributes:
        in_transcript: True for a page that is not the chat: it has no scripts, and others than the owner read it.
        has_outputs: True to show what each step has returned.
    """

    app_name: str
    in_transcript: bool = False
    has_outputs: bool = True

    def load(self, session: Session, invocation_id: str) -> list[StepCard]:
        """Load the cards of an invocation of the session; none if they cannot be shown, logged once."""
        try:
            return self.cards(load_progress(session, invocation_id))
        except Exception:  # One odd event must not take down the page or the transcript.
            logger.exception(
                "Steps of %s in session %s cannot be shown",
                invocation_id,
                session.pk,
                extra={"invocation_id": invocation_id, "session_id": str(session.pk)},
            )
            return []

    def cards(self, invocation: InvocationProgress) -> list[StepCard]:
        """Return the cards of an invocation's workflows."""
        if invocation.is_continued:
            return []
        return [self._card(run) for run in invocation.runs]

    def _card(self, run: WorkflowProgress) -> StepCard:
        steps = [step for step in run.root.children if not step.is_join]
        rows = [[self._view(step) for step in beside] for beside in _rows(steps)]
        current = _current(steps)
        is_unsettled = run.root.state in OPEN_STATES or run.root.state is NodeState.FAILED
        return StepCard(
            workflow=self._view(replace(run.root, output=None, children=[])),
            face=face_of(self.app_name, run.root.name),
            path=run.root.path,
            rows=rows[-MAX_ROWS:],
            hidden=sum(len(row) for row in rows[:-MAX_ROWS]),
            current=self._view(current) if current else None,
            done=sum(step.state is NodeState.DONE for step in steps),
            count=sum(step.state is not NodeState.SKIPPED for step in steps),
            is_open=self.in_transcript or is_unsettled,
        )

    def _view(self, step: NodeProgress) -> StepView:
        output = ""
        if self.has_outputs and step.output is not None:
            shown = mask_keys(step.output) if self.in_transcript else step.output
            output, _ = outline(shown, MAX_OUTPUT_LENGTH)
        words = words_of(step)
        if self.in_transcript and step.state is NodeState.WAITING:
            words = gettext("Waiting")
        inner = [below for below in step.children if not below.is_join]
        return StepView(
            name=as_words(step.name),
            state=step.state,
            words=words,
            waits_until=_moment(step.waits_until),
            began_at=_moment(step.began_at),
            ended_at=_moment(step.ended_at),
            attempts=step.attempts,
            output=output,
            inner=[self._view(below) for below in inner[:MAX_INNER_STEPS]],
            hidden=max(0, len(inner) - MAX_INNER_STEPS),
        )


def words_of(step: NodeProgress) -> str:
    """Return the state of a step in words."""
    until = _moment(step.waits_until)
    if until is not None:
        return str(WAITING_UNTIL).format(time=f"{localtime(until):%Y-%m-%d %H:%M %Z}")
    if _only_waits(step):
        return gettext("Waiting")
    return str(STATE_WORDS[step.state])


def _only_waits(step: NodeProgress) -> bool:
    """Return True for a step in the background of which nothing but waits is left."""
    if step.state is not NodeState.IN_BACKGROUND:
        return False
    open_steps = [
        below for below in step.walk() if below.state is NodeState.IN_BACKGROUND and not below.children
    ]
    return all(below.waits_until is not None for below in open_steps)


def _rows(steps: Iterable[NodeProgress]) -> list[list[NodeProgress]]:
    """Return the steps in rows, by their ranks."""
    return [list(beside) for _, beside in groupby(sorted(steps, key=_rank_of), key=_rank_of)]


def _current(steps: Sequence[NodeProgress]) -> NodeProgress | None:
    """Return the step to name in one line: one that waits for the person, else one that has failed or runs."""
    for states in ({NodeState.WAITING}, {NodeState.FAILED}, OPEN_STATES):
        found = [step for step in steps if step.state in states]
        if found:
            return found[-1]
    return None


def _rank_of(step: NodeProgress) -> int:
    return step.rank


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
