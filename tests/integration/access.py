"""The people and rows of the access matrix: one of each thing that an address or a frame can name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any
from uuid import uuid4

from axes.models import AccessAttempt
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.db.models import Model

from sessions_app.base.actors import ActorKind
from sessions_app.models import (
    AccountAct,
    ActionKind,
    ActRequest,
    Annotation,
    AnswerRequest,
    ApiKey,
    AppState,
    Artifact,
    CallError,
    CaseEntry,
    CaseFile,
    CaseItem,
    DayFigure,
    EvaluatedCase,
    Evaluation,
    Event,
    Failure,
    Feedback,
    Invocation,
    KnowledgeBase,
    KnowledgeDocument,
    KnowledgePassage,
    KnowledgeSearch,
    KnowledgeVersion,
    LegalHold,
    LinkedAccount,
    MemoryEntry,
    Remit,
    SavedCredential,
    ScheduledTask,
    Session,
    SessionAct,
    ShareLink,
    StaffAccess,
    StaffAct,
    Tombstone,
    ToolJob,
    UserState,
    Webhook,
    WebhookDelivery,
)
from sessions_app.secrets.digests import digest_of

APP = "echo"
LATER = datetime(2040, 1, 1, 9, tzinfo=UTC)
CALL = {"name": "choose", "args": {}}
ASKED = {"text": "Go on?", "kind": "confirm", "options": [], "asked_at": LATER.isoformat()}

Permissions = frozenset[str]


@dataclass(frozen=True)
class Things:
    """A session of one person and a row of each model that belongs to it."""

    session: Session
    rows: dict[str, Model]

    def segment(self, model: str, name: str) -> str:
        """The value of a placeholder in the address of a page about `model`."""
        values = {
            "session_id": self.session.pk,
            "seq": 1,
            "run_id": self.rows["invocation"].invocation_id,  # type: ignore[attr-defined]
            "app_name": APP,
            "change": "pin",
            "filename": "notes.txt",
            "name": "index.html",
            "artifact_id": self.rows["artifact"].pk,
            "content_type_id": ContentType.objects.get_for_model(Session).pk,
            "app_label": "sessions_app",
            "url": "no-such-page",
            "webhook_id": self.rows["webhook"].pk,
            "entry_id": self.rows["memoryentry"].pk,
            "credential_id": self.rows["savedcredential"].pk,
            "account_id": self.rows["linkedaccount"].pk,
            "key_id": self.rows["apikey"].pk,
            "call_id": self.rows["answerrequest"].call_id,  # type: ignore[attr-defined]
            "passage_id": self.rows["knowledgepassage"].pk,
            "base_id": (document := self.rows["owneddocument"]).base_id,  # type: ignore[attr-defined]
            "document_id": document.pk,
            "token": self.rows["sharelink"].token,  # type: ignore[attr-defined]
        }
        return str(values[name] if name in values else self.rows[model or "session"].pk)


def make_things(owner: User) -> Things:
    """Store one of each thing for the person."""
    session = make_session(owner)
    work: dict[str, Any] = {"session": session, "invocation_id": f"e-{session.pk}"}
    rows: dict[str, Model] = {
        "session": session,
        "event": session.events.get(seq=1),
        "invocation": Invocation.objects.create(client_id="m-1", message={}, **work),
        "tooljob": make_job(session),
        "answerrequest": make_request(session),
        "scheduledtask": make_schedule(session),
        "artifact": make_artifact(session),
        "feedback": Feedback.objects.create(session=session, user=owner, seq=1, rating="good"),
        # Of another session: its owner revokes the link of this one.
        "sharelink": make_share_link(make_session(owner)),
        "callerror": CallError.objects.create(
            session=session,
            seq=1,
            call_id="c-choose",
            tool_name="choose",
            error="OSError",
            detail="Traceback",
        ),
        "sessionact": SessionAct.objects.create(
            session=session, action=ActionKind.STOP, subject_kind="invocation", subject_id="e-1"
        ),
        "dayfigure": DayFigure.objects.create(day=LATER, app_name=APP, metric="calls", name=session.key),
        "failure": Failure.objects.create(
            session=session, seq=1, day=LATER, tool_name="report", cause="No paper"
        ),
        "evaluation": make_evaluation(session),
        "memoryentry": MemoryEntry.objects.create(
            app_name=APP, user=owner, session=session, event_id="e", author=APP, said_at=LATER, content={}
        ),
        "annotation": Annotation.objects.create(session=session, label="refunds", by_name="Grace"),
        "legalhold": LegalHold.objects.create(session=session, reason="A dispute"),
        "actrequest": ActRequest.objects.create(
            act="erase",
            subject_kind="session",
            subject_id=str(session.pk),
            actor_name="Grace",
            reason="Case 7",
        ),
        "casefile": make_case_file(session),
        "knowledgesearch": (
            search := KnowledgeSearch.objects.create(session=session, query="lamps", found=1)
        ),
        "knowledgepassage": make_found_passage(search),
    }
    return Things(session, rows | rows_of_account(owner) | rows_of_staff())


def rows_of_account(owner: User) -> dict[str, Model]:
    """Store one of each thing that belongs to the person and to no session."""
    return {
        "user": owner,
        "apikey": ApiKey.objects.all().make(user=owner, name="Laptop", scopes=["read"])[0],
        "linkedaccount": LinkedAccount.objects.get_or_create(
            user=owner, service="slack", place="T1", account=f"U{owner.pk}", name=owner.username
        )[0],
        "savedcredential": SavedCredential.objects.get_or_create(
            app_name=APP, user=owner, key=digest_of("calendar"), defaults={"saved_at": LATER}
        )[0],
        "webhook": (hook := make_webhook(owner)),
        "webhookdelivery": WebhookDelivery.objects.create(
            webhook=hook, event="test", subject="1", payload={}
        ),
        "accountact": AccountAct.objects.create(
            user=owner, action=ActionKind.REVOKE, subject_kind="apikey", subject_id="1"
        ),
        "appstate": AppState.objects.get_or_create(app_name=APP)[0],
        "userstate": UserState.objects.get_or_create(app_name=APP, user=owner)[0],
        "tombstone": Tombstone.objects.create(
            kind="session",
            subject_id=str(uuid4()),
            user_id=str(owner.pk),
            reason="Asked for",
            finished_at=LATER,
        ),
        "owneddocument": make_document(make_owned_base(owner)),
        "accessattempt": AccessAttempt.objects.create(
            username=f"not {owner.username}", failures_since_start=1
        ),
    }


def rows_of_staff() -> dict[str, Model]:
    """Store what staff have done, a group of them and its remit."""
    return {
        "staffact": StaffAct.objects.create(
            actor_kind=ActorKind.STAFF,
            actor_id="1",
            actor_name="Grace",
            action=ActionKind.STOP,
            subject_kind="invocation",
            subject_id="1",
        ),
        "staffaccess": StaffAccess.objects.create(
            actor_kind=ActorKind.STAFF, actor_id="1", actor_name="Grace", kind="open", subject_kind="session"
        ),
        "remit": Remit.objects.get_or_create(
            group=Group.objects.get_or_create(name="Clerks")[0], app_name=APP
        )[0],
        "group": Group.objects.get_or_create(name="Auditors")[0],
        "knowledgebase": KnowledgeBase.objects.get_or_create(name="Handbook", app_name=APP)[0],
        "knowledgedocument": make_document(),
    }


def make_owned_base(owner: User) -> KnowledgeBase:
    """Store a base that the person owns."""
    owners = Group.objects.create(name=uuid4().hex)
    owner.groups.add(owners)
    return KnowledgeBase.objects.create(name=owners.name, owners=owners)


def make_document(base: KnowledgeBase | None = None) -> KnowledgeDocument:
    """Store a document with a current version."""
    base = base or KnowledgeBase.objects.get_or_create(name="Handbook", app_name=APP)[0]
    document = KnowledgeDocument.objects.create(base=base, name=uuid4().hex)
    KnowledgeVersion.objects.create(document=document, number=1, size=1, status="current")
    return document


def make_found_passage(search: KnowledgeSearch) -> KnowledgePassage:
    """Store a passage that the search has found."""
    document = make_document()
    passage = KnowledgePassage.objects.create(
        version=document.versions.get(), position=0, text="Lamps", words="lamps"
    )
    search.uses.create(document=document, passage=passage, version_number=1, rank=1)
    return passage


def make_session(owner: User) -> Session:
    """Store a session whose only event is an answer with calls that wait: a confirmation and two choices."""
    session = Session.objects.create(app_name=APP, user=owner, key=uuid4().hex, last_seq=1)
    confirmation = {"name": "adk_request_confirmation", "args": {"originalFunctionCall": CALL}}
    options = {"name": "get_user_choice", "args": {"options": ["Bern"]}}
    calls = [{"id": "c-confirm", **confirmation}, {"id": "c-choose", **CALL}, {"id": "c-options", **options}]
    body = {
        "id": uuid4().hex,
        "author": APP,
        "invocationId": f"e-{session.pk}",
        "timestamp": 1.0,
        "actions": {},
        "longRunningToolIds": [call["id"] for call in calls],
        "content": {
            "role": "model",
            "parts": [{"text": "Wait."}, *({"functionCall": call} for call in calls)],
        },
        "groundingMetadata": {"searchEntryPoint": {"renderedContent": "<a>More</a>"}},
    }
    Event.objects.create(session=session, seq=1, body=body, model_call={"agent": APP, "seq": 0})
    return session


def make_evaluation(session: Session) -> Evaluation:
    """Store an evaluation whose case was made of the session."""
    evaluation = Evaluation.objects.create(app_name=APP, set_id="refunds", config={}, case_count=1)
    content = {"role": "user", "parts": [{"text": "Hello"}]}
    eval_id = str(session.pk)
    case = {"eval_id": eval_id, "conversation": [{"user_content": content}]}
    EvaluatedCase.objects.create(
        evaluation=evaluation, session=session, position=1, eval_id=eval_id, case=case
    )
    return evaluation


def make_job(session: Session, **values: Any) -> ToolJob:
    """Store a queued job of the session."""
    names = {"call_id": "c-job", "tool_name": "report", "task_name": "t", "agent_name": APP}
    return ToolJob.objects.create(session=session, invocation_id="e-asking", **{**names, **values})


def make_webhook(owner: User) -> Webhook:
    """Store a webhook of the person, which is told nothing."""
    return Webhook.objects.create(
        user=owner, url="https://example.org/hook", secret="", events=["run.ended"], disabled_at=LATER
    )


def make_request(session: Session) -> AnswerRequest:
    """Store a request for an answer to the confirmation of the session."""
    work = {"session": session, "invocation_id": f"e-waiting-{session.pk}"}
    Invocation.objects.create(client_id="m-2", message={}, status="waiting", **work)
    names = {"call_id": "c-confirm", "kind": "confirmation", "agent_name": APP, "tool_name": "choose"}
    return AnswerRequest.objects.create(
        **work, **names, effect="Choose", answered_by="person", asked_at=LATER
    )


def make_case_file(session: Session) -> CaseFile:
    """Store a case file with the session, which somebody has read."""
    case = CaseFile.objects.create(actor_name="Grace", title="Refunds")
    CaseItem.objects.create(case=case, session_id=session.pk)
    CaseEntry.objects.create(case=case, kind="read", actor_id="2", actor_name="Alan")
    return case


def make_schedule(session: Session) -> ScheduledTask:
    """Store a scheduled task of the session."""
    names = {"call_id": "c-later", "agent_name": APP, "task": "Water the plants", "time_zone": "UTC"}
    times = {"start_at": LATER, "next_at": LATER}
    return ScheduledTask.objects.create(session=session, invocation_id="e-asking", **names, **times)


def make_artifact(session: Session) -> Artifact:
    """Store a file of the session."""
    made = Artifact(app_name=session.app_name, user=session.user, session=session, filename="notes.txt")
    made.version, made.mime_type, made.part_kind = 0, "text/plain", "blob"
    content = b"Hello"
    made.size = len(content)
    made.sha256 = hashlib.sha256(content).hexdigest()
    made.file.save("x", ContentFile(content))
    return made


def make_share_link(session: Session) -> ShareLink:
    """Share the session, of which an event names a file."""
    make_artifact(session)
    body = session.events.get().body
    named = {**body, "id": uuid4().hex, "actions": {"artifactDelta": {"notes.txt": 0}}}
    Event.objects.create(session=session, seq=2, body=named)
    Session.objects.filter(pk=session.pk).update(last_seq=2)
    return ShareLink.objects.create(session=session)


@lru_cache(maxsize=1)
def all_permissions() -> Permissions:
    """The name of each permission that the site knows."""
    return frozenset(Permission.objects.values_list("codename", flat=True))


def make_staff(permissions: Iterable[str]) -> User:
    """Store a member of the staff with these permissions."""
    staff = User.objects.create_user(f"staff-{uuid4().hex}", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=list(permissions)))
    return staff


def opening(text: str) -> list[Permissions]:
    """The sets of permissions that open a row, from `view_a|view_b+cancel_b`; none from `-`.

    A model need not have all of Django's permissions: those that do not exist open nothing.
    """
    sets = [] if text == "-" else [frozenset(one.split("+")) for one in text.split("|")]
    return [one for one in sets if one <= all_permissions()]


@cache  # Many rows are opened by the same sets.
def largest_refused(sets: tuple[Permissions, ...]) -> list[Permissions]:
    """The largest sets of permissions that must not open a row: all but at least one of each set that opens it.

    They lack the smallest sets that have something in common with each opening set. Trying all combinations takes
    minutes for a page that a dozen sets open, so the smallest sets grow from one opening set to the next.
    """
    missing: set[Permissions] = {frozenset()}
    for one in sets:
        common = {chosen for chosen in missing if chosen & one}
        grown = {chosen | {name} for chosen in missing - common for name in one}
        missing = common | {chosen for chosen in grown if not any(other <= chosen for other in common)}
    return [all_permissions() - chosen for chosen in missing]
