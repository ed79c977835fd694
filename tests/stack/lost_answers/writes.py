"""Writes of the API, one of each class: what each creates or does, and what a repetition is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from adk_client import Client, Ended
from django.contrib.auth.models import User
from django.db.models.functions import Now

from sessions_app.models import (
    AccountAct,
    ApiKey,
    Artifact,
    Invocation,
    Scope,
    Session,
    Webhook,
)
from tests.integration.access import (
    ASKED,
    make_artifact,
    make_job,
    make_request,
    make_schedule,
    make_session,
)

API = "/api/v1"
APP = "echo"
HELLO = {"json": {"text": "Hello"}}


@dataclass(frozen=True)
class Write:
    """A request.

    Attributes:
        effects: counts what the request has created or done; none before it.
        repeated: status of the response to the repetition after a lost answer.
        sent: content of the request, as arguments of httpx.
    """

    name: str
    method: str
    path: str
    effects: Callable[[], int]
    repeated: int
    sent: dict[str, Any] = field(default_factory=dict)

    @property
    def request(self) -> dict[str, Any]:
        """Arguments of httpx."""
        headers = {"idempotency-key": self.name, **self.sent.get("headers", {})}
        return {"method": self.method, "url": API + self.path, **self.sent, "headers": headers}


def account_writes(user: User) -> list[Write]:
    """Return the writes that are about no session."""
    old_key, _ = ApiKey.objects.all().make(user=user, name="Old", scopes=[Scope.READ])
    old_hook, hook = [
        Webhook.objects.create(user=user, url=f"https://example.org/{number}", secret="", events=[])
        for number in range(2)
    ]
    new_key = {"name": "Laptop", "scopes": ["read"]}
    new_hook = {"url": "https://example.org/new", "events": ["run.ended"]}
    keys, hooks = ApiKey.objects.filter(name="Laptop"), Webhook.objects.filter(url=new_hook["url"])

    def acts(row: ApiKey | Webhook) -> Callable[[], int]:
        return AccountAct.objects.filter(subject_id=str(row.pk)).count

    return [
        Write("key", "POST", "/keys", keys.count, 201, {"json": new_key}),
        Write("revoked key", "DELETE", f"/keys/{old_key.pk}", acts(old_key), 204),
        Write("webhook", "POST", "/webhooks", hooks.count, 201, {"json": new_hook}),
        Write("deleted webhook", "DELETE", f"/webhooks/{old_hook.pk}", acts(old_hook), 404),
        Write("test", "POST", f"/webhooks/{hook.pk}/test", hook.deliveries.count, 202),
    ]


def session_writes(user: User, http: httpx.Client) -> list[Write]:
    """Return the writes about sessions and their files, without those that need a run that has ended."""
    empty, renamed, deleted, restored, rated = [make_session(user) for _ in range(5)]
    Session.objects.filter(pk=restored.pk).update(deleted_at=Now())
    artifact = make_artifact(empty)
    Artifact.objects.filter(pk=artifact.pk).update(is_upload=True)
    before = [row.pk for row in Session.objects.all()]
    created, file = Session.objects.exclude(pk__in=before), empty.artifacts.filter(filename="a.txt")
    of, titled = f"/sessions/{empty.pk}", Session.objects.filter(title="Orders")
    etag = http.get(f"{API}/sessions/{renamed.pk}").headers["etag"]
    title = {"json": {"title": "Orders"}, "headers": {"if-match": etag}}

    def deletions() -> int:
        return 1 - Artifact.objects.filter(pk=artifact.pk).count()

    return [
        Write("session", "POST", "/sessions", created.count, 201, {"json": {"app": APP}}),
        Write("run", "POST", f"{of}/runs", empty.invocations.count, 202, HELLO),
        Write(
            "file",
            "POST",
            f"{of}/files",
            file.count,
            201,
            {"files": {"file": ("a.txt", b"Hi")}},
        ),
        Write("deleted file", "DELETE", f"{of}/files/notes.txt?version=0", deletions, 204),
        Write("title", "PATCH", f"/sessions/{renamed.pk}", titled.count, 412, title),
        Write("deleted session", "DELETE", f"/sessions/{deleted.pk}", deleted.acts.count, 404),
        Write("restored session", "POST", f"/sessions/{restored.pk}/restore", restored.acts.count, 200),
        Write(
            "opinion",
            "PUT",
            f"/sessions/{rated.pk}/events/1/feedback",
            rated.feedback.count,
            204,
            {"json": {"rating": "good"}},
        ),
    ]


def answers(user: User) -> list[Write]:
    """Return the writes about calls, jobs and scheduled tasks."""
    called, approved, asking, working, planned = [make_session(user) for _ in range(5)]
    run = f"e-{called.pk}"
    Invocation.objects.create(
        session=called, invocation_id=run, client_id="m-1", message={}, status="waiting"
    )
    approval, schedule = make_request(approved), make_schedule(planned)
    question, job = make_job(asking, status="waiting", question=ASKED), make_job(working)
    yes = {"json": {"confirmed": True}}
    answer = {"json": {"call_id": "c-confirm", "confirmed": True}}
    given = [session.invocations.exclude(message={}) for session in (called, approved)]
    return [
        Write("answer", "POST", f"/runs/{run}/responses", given[0].count, 409, answer),
        Write("approval", "POST", f"/approvals/{approval.pk}/answer", given[1].count, 404, yes),
        Write(
            "answer of a job",
            "POST",
            f"/jobs/{question.pk}/answer",
            asking.acts.count,
            409,
            {"json": {"number": 0, "answer": True}},
        ),
        Write("cancelled job", "POST", f"/jobs/{job.pk}/cancel", working.acts.count, 202),
        Write("cancelled task", "POST", f"/schedules/{schedule.pk}/cancel", planned.acts.count, 200),
    ]


def run_acts(client: Client, http: httpx.Client) -> list[Write]:
    """Return the acts on runs that have ended, which the site executes first."""
    edited, rewound, switched, failed, ended = [_asked(client) for _ in range(5)]
    Invocation.objects.filter(pk=failed.pk).update(
        status="failed", error_code="TEST", error_message="Failed."
    )
    assert http.post(API + _of(switched, "rewind")).status_code == 204
    Invocation.objects.filter(pk=ended.pk).update(status="queued", finished_at=None)
    return [
        Write(
            "edit",
            "POST",
            _of(edited, "edit"),
            edited.session.invocations.exclude(pk=edited.pk).count,
            202,
            HELLO,
        ),
        Write("rewind", "POST", _of(rewound, "rewind"), rewound.session.acts.count, 204),
        Write("retry", "POST", _of(failed, "retry"), failed.session.acts.count, 202),
        Write("stop", "POST", _of(ended, "cancel"), ended.session.acts.count, 202),
        Write(
            "switch",
            "POST",
            f"/sessions/{switched.session_id}/switch",
            switched.session.acts.filter(action="switch").count,
            204,
            {"json": {"seq": 1}},
        ),
    ]


def _asked(client: Client) -> Invocation:
    """Return a run that has ended, in a new session."""
    *_, end = client.ask(client.create_session(APP).session_id, "Hello")
    assert isinstance(end, Ended)
    return Invocation.objects.select_related("session").get(invocation_id=end.run_id)


def _of(run: Invocation, act: str) -> str:
    return f"/runs/{run.invocation_id}/{act}"
