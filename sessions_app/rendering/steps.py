"""Steps of a workflow as a card: rows of steps, and those that may run at once side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from runtime.workflow.steps import OPEN_STATES, Step, StepState, WorkflowSteps
from sessions_app.rendering.faces import face_of
from sessions_app.rendering.outline import as_words, outline

STATE_WORDS = {
    StepState.PENDING: gettext_lazy("Not begun"),
    StepState.RUNNING: gettext_lazy("Running"),
    StepState.RETRYING: gettext_lazy("Trying again"),
    StepState.WAITING: gettext_lazy("Waiting for you"),
    StepState.IN_BACKGROUND: gettext_lazy("In the background"),
    StepState.DONE: gettext_lazy("Done"),
    StepState.FAILED: gettext_lazy("Failed"),
    StepState.STOPPED: gettext_lazy("Stopped"),
    StepState.SKIPPED: gettext_lazy("Skipped"),
}
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
    began_at: datetime | None
    ended_at: datetime | None
    attempts: int
    output: str
    inner: list[StepView]
    hidden: int

    @property
    def has_time(self) -> bool:
        """True for a step whose duration is known, or still grows."""
        is_open = self.state in OPEN_STATES
        return self.began_at is not None and (is_open or self.ended_at is not None)


def render_steps(app_name: str, runs: Iterable[WorkflowSteps]) -> SafeString:
    """Return the cards of an invocation's workflows, as `<section class="steps">`."""
    cards = [_render_run(app_name, run) for run in runs]
    return SafeString("".join(cards))


def _render_run(app_name: str, run: WorkflowSteps) -> SafeString:
    steps = [step for step in run.step.steps if not step.is_join]
    rows = _rows(steps)
    current = _current(steps)
    context = {
        "workflow": step_view(run.step, with_output=False),
        "face": face_of(app_name, run.step.name),
        "path": run.step.path,
        "rows": rows[-MAX_ROWS:],
        "hidden": sum(len(row) for row in rows[:-MAX_ROWS]),
        "current": current and step_view(current),
        "done": sum(step.state is StepState.DONE for step in steps),
        "count": sum(step.state is not StepState.SKIPPED for step in steps),
        "is_open": run.step.state in OPEN_STATES or run.step.state is StepState.FAILED,
    }
    return render_to_string("chat/steps.html", context)


def step_view(step: Step, *, with_output: bool = True) -> StepView:
    """Return a step for a template."""
    output = ""
    if with_output and step.output is not None:
        output, _ = outline(step.output, MAX_OUTPUT_LENGTH)
    inner = [below for below in step.steps if not below.is_join] if with_output else []
    return StepView(
        name=as_words(step.name),
        state=step.state,
        words=str(STATE_WORDS[step.state]),
        began_at=_moment(step.began_at),
        ended_at=_moment(step.ended_at),
        attempts=step.attempts,
        output=output,
        inner=[step_view(below) for below in inner[:MAX_INNER_STEPS]],
        hidden=max(0, len(inner) - MAX_INNER_STEPS),
    )


def _rows(steps: Iterable[Step]) -> list[list[StepView]]:
    """Return the steps in rows, by their ranks."""
    rows = []
    for _, beside in groupby(sorted(steps, key=_rank_of), key=_rank_of):
        rows.append([step_view(step) for step in beside])
    return rows


def _current(steps: Sequence[Step]) -> Step | None:
    """Return the step to name in one line: one that waits for the person, else one that has failed or runs."""
    for states in ({StepState.WAITING}, {StepState.FAILED}, OPEN_STATES):
        found = [step for step in steps if step.state in states]
        if found:
            return found[-1]
    return None


def _rank_of(step: Step) -> int:
    return step.rank


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
