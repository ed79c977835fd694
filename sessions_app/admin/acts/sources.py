"""Sources of the page "Who did what": the tables with acts, each read backwards in the order of its primary key.

A source has the rights and remits of the table's own admin, so the page shows nothing that no other page shows.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runtime.events.calls import (
    REMOTE_AUTH,
    REMOTE_INPUT,
    REQUEST_CREDENTIAL,
    REQUEST_INPUT,
)
from sessions_app.admin.framework.links import event_link, invocation_link, session_link
from sessions_app.admin.framework.permissions import Right, may, remits_of
from sessions_app.admin.framework.recorded_acts import staff_act_in_words
from sessions_app.admin.framework.runs import LARGE_OF_INVOCATION
from sessions_app.admin.records import SubjectAdmin, kind_in_words
from sessions_app.base import actors
from sessions_app.base.actors import ActionKind, ActorKind
from sessions_app.data_protection.personal_data import as_text
from sessions_app.history.call_state import CallState
from sessions_app.models import (
    AccessKind,
    AccountAct,
    Artifact,
    ErasedSession,
    GuardedAct,
    Invocation,
    SessionAct,
    StaffAccess,
    StaffAct,
    Tombstone,
)
from sessions_app.models.actor_columns import ActorColumns
from sessions_app.rendering.audit_values import excerpt, status_badge

DETAIL = re.compile(r"(?P<tool>[^(]*)\((?P<arguments>.*?)\)?(#(?P<seq>\d+))?$", re.DOTALL)
"""The `detail` of an act of staff."""
EFFECTS: Mapping[str, str] = {
    # Of the calls in an erased session only those without an error are kept.
    "call": CallState.OK,
    ActionKind.APPROVE: CallState.APPROVED,
    ActionKind.REJECT: CallState.REJECTED,
    ActionKind.ANSWER: "answered",
}
"""Effect of an act that outlives its event."""
QUESTIONS: Mapping[str, str] = {
    REQUEST_INPUT: "question",
    REMOTE_INPUT: "question",
    REMOTE_AUTH: "sign-in",
    REQUEST_CREDENTIAL: "credential",
}
"""Words for the calls by which workflows, remote agents and the framework ask a person."""


@dataclass(frozen=True)
class ActEntry:
    """An act of the list.

    Attributes:
        key: primary key of the row in its table.
        actor: row with the columns of the actor.
        tool: the tool of a call or an answer; empty for other acts.
        place: link to the event or the row, or its key for users who may not open it.
        stored_at: time by which the entry is listed, if not `at`.
    """

    key: int
    at: datetime
    actor: ActorColumns
    action: str
    tool: str = ""
    arguments: str = ""
    effect: SafeString | str = ""
    place: SafeString | str = ""
    reason: str = ""
    stored_at: datetime | None = None


@dataclass(frozen=True)
class Filters:
    """Choices of the reader; empty for all acts.

    Attributes:
        actor: name or key of the actor.
    """

    kind: str = ""
    actor: str = ""
    tool: str = ""
    day: date | None = None

    def match(self, entry: ActEntry) -> bool:
        """True if the entry has the chosen actor and tool, on the chosen day."""
        actor = entry.actor
        return (
            self.kind in ("", actor.actor_kind)
            and self.actor in ("", actor.actor_name, actor.actor_id)
            and self.tool in ("", entry.tool)
            and (self.day is None or timezone.localdate(entry.at) == self.day)
        )


class ActSource:
    """Base of the sources.

    Attributes:
        kinds: kinds of the actors that the table has.
        listed_by: model whose admin knows the rights; None for the model itself.
        is_stored_later: True if the rows are of acts on earlier days.
    """

    model: ClassVar[type[Model]]
    listed_by: ClassVar[type[Model] | None] = None
    is_stored_later: ClassVar[bool] = False
    time_field: ClassVar[str] = "at"
    kinds: ClassVar[frozenset[ActorKind]] = frozenset(ActorKind)

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.admin: Any = admin.site.get_model_admin(self.listed_by or self.model)

    def may_be_read(self) -> bool:
        """True if the user may view the rows."""
        return bool(self.admin.has_view_permission(self.request))

    def rows(self, filters: Filters) -> QuerySet[Any]:
        """Return the acts of the table within the remits of the user, without some that do not match."""
        rows: QuerySet[Any] = self.admin.get_queryset(self.request)
        if filters.actor and issubclass(self.model, ActorColumns):
            rows = rows.filter(Q(actor_name=filters.actor) | Q(actor_id=filters.actor))
        return rows

    def entries(self, rows: Iterable[Any]) -> Iterator[ActEntry]:
        """Yield the entries of the rows, in their order."""
        raise NotImplementedError

    def link_to(self, row: Any) -> SafeString | str:
        """Return a link to the session of a row; its key for users who may not read texts."""
        if row.session is None:
            return ""
        if not may(self.request, Right.VIEW_TEXT):
            return str(row.session)
        return session_link(row.session)

    def link_to_invocation(self, row: Any, key: str) -> SafeString | str:
        """Return a link to the events of an invocation; its ADK id for users who may not read texts."""
        if not may(self.request, Right.VIEW_TEXT):
            return key
        return invocation_link(row.session_id, key)


class _RecordSource(ActSource):
    """Records with a subject, whose admin knows the link to it."""

    admin: SubjectAdmin

    def entries(self, rows: Iterable[Any]) -> Iterator[ActEntry]:
        records = list(rows)
        self.admin.complete_rows(self.request, records, "")
        for record in records:
            yield self.entry(record)

    def entry(self, record: Any) -> ActEntry:
        return ActEntry(
            record.pk,
            record.at,
            record,
            act_in_words(self.act(record), record.subject_kind),
            place=record.subject_link,
            reason=record.reason,
        )

    def act(self, record: Any) -> str:
        return str(record.get_action_display())


class StaffActSource(_RecordSource):
    """Acts in the admin, with answers to calls, and alerts of the site on unusual reading."""

    model = StaffAct
    kinds = frozenset({ActorKind.STAFF, ActorKind.SITE})

    def entry(self, record: StaffAct) -> ActEntry:
        entry = super().entry(record)
        detail = DETAIL.match(record.detail)
        if not detail:
            return entry
        arguments = numbers_in_words(detail["tool"], detail["arguments"])
        if arguments in GuardedAct:
            return entry  # the words of the act name it
        if not detail["tool"]:
            return replace(entry, arguments=arguments)
        place = entry.place
        if detail["seq"] and isinstance(place, SafeString):  # a link, so the user may open the session
            link = event_link(UUID(record.subject_id), int(detail["seq"]))
            place = format_html("{} {}", place, link)
        return replace(
            entry,
            action=self.act(record),
            tool=QUESTIONS.get(detail["tool"], detail["tool"]),
            arguments=arguments,
            effect=status_badge(EFFECTS.get(record.action)),
            place=place,
        )

    def act(self, record: StaffAct) -> str:
        return staff_act_in_words(record.action, record.subject_kind, record.detail)


class StaffAccessSource(_RecordSource):
    """Exports, downloads and unmaskings of staff. What staff only looked at is in the list of accesses."""

    model = StaffAccess
    kinds = frozenset({ActorKind.STAFF})

    def rows(self, filters: Filters) -> QuerySet[StaffAccess]:
        return (
            super().rows(filters).filter(kind__in=(AccessKind.EXPORT, AccessKind.DOWNLOAD, AccessKind.UNMASK))
        )

    def entry(self, record: StaffAccess) -> ActEntry:
        return replace(super().entry(record), arguments=excerpt(record.detail))

    def act(self, record: StaffAccess) -> str:
        return str(record.get_kind_display())


class AccountActSource(_RecordSource):
    """Acts on keys, webhooks and states of people, without acts of staff: the admin records them."""

    model = AccountAct
    kinds = frozenset(ActorKind) - {ActorKind.STAFF}

    def rows(self, filters: Filters) -> QuerySet[AccountAct]:
        return super().rows(filters).exclude(actor_kind=ActorKind.STAFF)


class SessionActSource(ActSource):
    """Acts on sessions, without acts of staff: the admin records them."""

    model = SessionAct
    kinds = frozenset(ActorKind) - {ActorKind.STAFF}

    def rows(self, filters: Filters) -> QuerySet[SessionAct]:
        return super().rows(filters).exclude(actor_kind=ActorKind.STAFF).select_related("session")

    def entries(self, rows: Iterable[SessionAct]) -> Iterator[ActEntry]:
        for act in rows:
            place = self.link_to(act)
            if act.seq is not None:
                place = event_link(act.session_id, act.seq)
            elif act.subject_kind == "invocation":
                place = self.link_to_invocation(act, act.subject_id)
            tool = ""
            arguments = ""
            if act.subject_kind == "tool":
                tool = act.subject_id
            elif act.subject_kind == "state":
                arguments = act.subject_id  # names of the changed keys
            yield ActEntry(
                act.pk,
                act.at,
                act,
                act_in_words(act.get_action_display(), act.subject_kind),
                tool,
                arguments,
                place=place,
                reason=act.reason,
            )


class UploadSource(ActSource):
    """Files that people have uploaded."""

    model = Artifact
    time_field = "created_at"
    kinds = frozenset({ActorKind.PERSON})

    def rows(self, filters: Filters) -> QuerySet[Artifact]:
        return super().rows(filters).filter(is_upload=True).select_related("session", "user")

    def entries(self, rows: Iterable[Artifact]) -> Iterator[ActEntry]:
        for file in rows:
            actor = SessionAct(**actors.person(file.user).columns())
            yield ActEntry(
                file.pk,
                file.created_at,
                actor,
                gettext("Upload"),
                arguments=excerpt(file.filename),
                effect=filesizeformat(file.size),
                place=self.link_to(file),
            )


class MessageSource(ActSource):
    """Messages of API keys and scheduled tasks. Messages of people are the conversation, not an act on it."""

    model = Invocation
    time_field = "created_at"
    kinds = frozenset({ActorKind.KEY, ActorKind.SCHEDULE})

    def rows(self, filters: Filters) -> QuerySet[Invocation]:
        of_programs = super().rows(filters).filter(actor_kind__in=self.kinds).select_related("session")
        # An answer is in its event, which has the result, too.
        messages = of_programs.exclude(message__parts__contains=[{"functionResponse": {}}])
        return messages.defer(*LARGE_OF_INVOCATION)

    def entries(self, rows: Iterable[Invocation]) -> Iterator[ActEntry]:
        for row in rows:
            place = self.link_to_invocation(row, row.invocation_id)
            badge = status_badge(row.status)
            yield ActEntry(row.pk, row.created_at, row, gettext("Message"), effect=badge, place=place)


class ErasureSource(ActSource):
    """Erasures, without those that the admin has recorded as acts of staff.

    An erasure by staff has no record if `adk_erase` did it for their request, or if the process died after it.
    """

    model = Tombstone
    time_field = "started_at"
    kinds = frozenset({ActorKind.PERSON, ActorKind.SITE, ActorKind.STAFF})

    def rows(self, filters: Filters) -> QuerySet[Tombstone]:
        recorded = StaffAct.objects.filter(
            action=ActionKind.DELETE,
            subject_kind__in=["session", get_user_model()._meta.model_name],
            subject_id=OuterRef("subject_id"),
        )
        return super().rows(filters).filter(Q(by_name="") | ~Exists(recorded))

    def entries(self, rows: Iterable[Tombstone]) -> Iterator[ActEntry]:
        for stone in rows:
            if stone.by_name:
                kind = ActorKind.STAFF
            elif stone.by_id:
                kind = ActorKind.PERSON
            else:
                kind = ActorKind.SITE
            actor = SessionAct(**actors.Actor(kind, stone.by_name).columns())
            action = f"{gettext('Erase')}: {stone.get_kind_display().lower()}"
            yield ActEntry(
                stone.pk,
                stone.started_at,
                actor,
                action,
                effect=as_text(stone.counts),
                place=stone.subject_id,
                reason=stone.reason,
            )


class ErasedActSource(ActSource):
    """Acts in erased sessions, without names, listed at the time of the erasure."""

    model = ErasedSession
    listed_by = Tombstone
    is_stored_later = True
    kinds = frozenset(ActorKind) - {ActorKind.STAFF}

    def rows(self, filters: Filters) -> QuerySet[ErasedSession]:
        # As in the list of tombstones: nothing is left of an erased session that tells its app.
        sessions = ErasedSession.objects.exclude(acts=[])
        if remits_of(self.request):
            sessions = sessions.filter(tombstone__by=self.request.user.pk)
        return sessions

    def entries(self, rows: Iterable[ErasedSession]) -> Iterator[ActEntry]:
        for session in rows:
            for seconds, kind, act, tool, details in session.acts:
                at = datetime.fromtimestamp(seconds, UTC)
                actor = SessionAct(**actors.Actor(ActorKind(kind), "").columns())
                action = gettext("Call") if act == "call" else str(ActionKind(act).label)
                numbers = numbers_in_words(tool, details or "")
                effect = status_badge(EFFECTS.get(act))
                if not tool:
                    action = act_in_words(action, details)
                    numbers = ""
                    effect = SafeString()
                place = gettext("erased session %s") % session.session_id
                tool = QUESTIONS.get(tool, tool)
                yield ActEntry(
                    session.pk, at, actor, action, tool, numbers, effect, place, stored_at=session.at
                )


ROW_SOURCES: tuple[type[ActSource], ...] = (
    StaffActSource, StaffAccessSource, AccountActSource, SessionActSource, UploadSource, MessageSource, ErasureSource,
    ErasedActSource,
)  # fmt: skip
"""Sources with a row for each act, except erased sessions, whose row has all of their acts."""


def act_in_words(action: str, subject_kind: str) -> str:
    """Return an act with the kind of its subject, such as "Stop: invocation"."""
    return f"{action}: {kind_in_words(subject_kind)}"


def numbers_in_words(tool: str, numbers: str) -> str:
    """Return the numbers that a record keeps of a call, such as "amount: 40" from "amount=40"."""
    if tool in QUESTIONS:
        numbers = numbers.removeprefix("payload=")  # a name of the framework's
    return numbers.replace("=", ": ")
