"""A workflow as a card: rows of its nodes, and those that may run at once side by side. People see nodes as steps."""

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
MAX_INNER_NODES = 20
"""Largest number of nodes shown below a node."""
MAX_OUTPUT_LENGTH = 1_000


@dataclass(frozen=True)
class NodeView:
    """A node for the template.

    Attributes:
        output: the output as text, shortened.
        inner: the first nodes below it.
        hidden: number of the nodes below it that are not shown.
    """

    name: str
    state: str
    words: str
    waits_until: datetime | None
    began_at: datetime | None
    ended_at: datetime | None
    attempts: int
    output: str
    inner: "list[NodeView]"
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
        """True for a node whose duration is known, or still grows."""
        is_open = self.state in OPEN_STATES
        return self.began_at is not None and (is_open or self.ended_at is not None)


@dataclass(frozen=True)
class WorkflowCard:
    """A run of a workflow for the template.

    Attributes:
        rows: the last rows of its nodes.
        hidden: number of the earlier nodes.
        current: the node to name in one line; None when nothing is open or failed.
        done: number of nodes that are done.
        count: number of nodes that are not skipped.
    """

    workflow: NodeView
    face: Face
    path: str
    rows: list[list[NodeView]]
    hidden: int
    current: NodeView | None
    done: int
    count: int
    is_open: bool


@dataclass(frozen=True)
class CardMaker:
    """Makes the cards of an app's workflows for one kind of page.

    Attributes:
        in_transcript: True for a page that is not the chat: it has no scripts, and others than the owner read it.
        has_outputs: True to show what each node has returned.
    """

    app_name: str
    in_transcript: bool = False
    has_outputs: bool = True

    def load(self, session: Session, invocation_id: str) -> list[WorkflowCard]:
        """Load the cards of an invocation of the session; none if they cannot be shown, logged once."""
        try:
            return self.cards(load_progress(session, invocation_id))
        except Exception:  # One odd event must not take down the page or the transcript.
            logger.exception(
                "The workflows of invocation %s in session %s cannot be shown",
                invocation_id,
                session.pk,
                extra={"invocation_id": invocation_id, "session_id": str(session.pk)},
            )
            return []

    def cards(self, invocation: InvocationProgress) -> list[WorkflowCard]:
        """Return the cards of an invocation's workflows."""
        if invocation.is_continued:
            return []
        return [self._card(run) for run in invocation.runs]

    def _card(self, run: WorkflowProgress) -> WorkflowCard:
        nodes = [node for node in run.root.children if not node.is_join]
        rows = [list(map(self._view, beside)) for beside in _rows(nodes)]
        current = _current(nodes)
        is_unsettled = run.root.state in OPEN_STATES or run.root.state is NodeState.FAILED
        return WorkflowCard(
            workflow=self._view(replace(run.root, output=None, children=[])),
            face=face_of(self.app_name, run.root.name),
            path=run.root.path,
            rows=rows[-MAX_ROWS:],
            hidden=sum(len(row) for row in rows[:-MAX_ROWS]),
            current=self._view(current) if current else None,
            done=sum(node.state is NodeState.DONE for node in nodes),
            count=sum(node.state is not NodeState.SKIPPED for node in nodes),
            is_open=self.in_transcript or is_unsettled,
        )

    def _view(self, node: NodeProgress) -> NodeView:
        output = ""
        if self.has_outputs and node.output is not None:
            shown = mask_keys(node.output) if self.in_transcript else node.output
            output, _ = outline(shown, MAX_OUTPUT_LENGTH)
        words = state_in_words(node)
        if self.in_transcript and node.state is NodeState.WAITING:
            words = gettext("Waiting")
        inner = [below for below in node.children if not below.is_join]
        return NodeView(
            name=as_words(node.name),
            state=node.state,
            words=words,
            waits_until=_moment(node.waits_until),
            began_at=_moment(node.began_at),
            ended_at=_moment(node.ended_at),
            attempts=node.attempts,
            output=output,
            inner=[self._view(below) for below in inner[:MAX_INNER_NODES]],
            hidden=max(0, len(inner) - MAX_INNER_NODES),
        )


def state_in_words(node: NodeProgress) -> str:
    """Return the state of a node in words."""
    until = _moment(node.waits_until)
    if until is not None:
        return str(WAITING_UNTIL).format(time=f"{localtime(until):%Y-%m-%d %H:%M %Z}")
    if _only_waits(node):
        return gettext("Waiting")
    return str(STATE_WORDS[node.state])


def _only_waits(node: NodeProgress) -> bool:
    """Return True for a node in the background of which nothing but waits is left."""
    if node.state is not NodeState.IN_BACKGROUND:
        return False
    open_nodes = [
        below for below in node.walk() if below.state is NodeState.IN_BACKGROUND and not below.children
    ]
    return all(below.waits_until is not None for below in open_nodes)


def _rows(nodes: Iterable[NodeProgress]) -> list[list[NodeProgress]]:
    """Return the nodes in rows, by their ranks."""
    return [list(beside) for _, beside in groupby(sorted(nodes, key=_rank_of), key=_rank_of)]


def _current(nodes: Sequence[NodeProgress]) -> NodeProgress | None:
    """Return the node to name in one line: one that waits for the person, else one that has failed or runs."""
    for states in ({NodeState.WAITING}, {NodeState.FAILED}, OPEN_STATES):
        found = [node for node in nodes if node.state in states]
        if found:
            return found[-1]
    return None


def _rank_of(node: NodeProgress) -> int:
    return node.rank


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
