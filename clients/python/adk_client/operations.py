"""Operations of the API, as the requests and streams that they send."""

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from adk_client.account import AccountOperations
from adk_client.calls import Call, Id, address_part
from adk_client.models import Approval, AppSummary, Job, Page, Run, Schedule, Session, StoredEvent, StoredFile
from adk_client.operation import Operation, StreamOperation
from adk_client.stream import Stream


class Operations(AccountOperations):
    """Base of both clients. Pass the `next` of a page as `cursor` to get the following page."""

    @Operation
    def apps(self) -> Call[list[AppSummary]]:
        """List the apps of the site."""
        return Call("GET", "/apps", list[AppSummary])

    # Sessions

    @Operation
    def create_session(
        self, app: str, *, session_id: Id | None = None, user_id: str | None = None
    ) -> Call[Session]:
        """Create a session with an app; the same id again returns the same session."""
        # Chosen once for all attempts: a repeated request creates no second session.
        body = {"app": app, "session_id": str(session_id or uuid4()), "user_id": user_id}
        return Call("POST", "/sessions", Session, json=body)

    @Operation
    def sessions(
        self, *, app: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> Call[Page[Session]]:
        """List sessions, latest use first."""
        return Call("GET", "/sessions", Page[Session], query={"app": app, "cursor": cursor, "limit": limit})

    @Operation
    def session(self, session_id: Id) -> Call[Session]:
        """Return a session."""
        return Call("GET", f"/sessions/{address_part(session_id)}", Session)

    @Operation
    def rename_session(self, session_id: Id, title: str) -> Call[Session]:
        """Change the title of a session."""
        return Call("PATCH", f"/sessions/{address_part(session_id)}", Session, json={"title": title})

    @Operation
    def delete_session(self, session_id: Id) -> Call[None]:
        """Delete a session."""
        return Call("DELETE", f"/sessions/{address_part(session_id)}", None)

    @Operation
    def events(
        self, session_id: Id, *, after: int | None = None, limit: int | None = None
    ) -> Call[Page[StoredEvent]]:
        """List events of a session after a `seq`, oldest first; `next` is `after` for the following page."""
        query = {"after": after, "limit": limit}
        return Call("GET", f"/sessions/{address_part(session_id)}/events", Page[StoredEvent], query=query)

    @Operation
    def give_feedback(
        self, session_id: Id, seq: int, rating: Literal["good", "bad"], comment: str = ""
    ) -> Call[None]:
        """Store an opinion of an answer, replacing an earlier opinion; `seq` is the number of the answer's event."""
        body = {"rating": rating, "comment": comment}
        return Call("PUT", f"/sessions/{address_part(session_id)}/events/{seq}/feedback", None, json=body)

    @Operation
    def withdraw_feedback(self, session_id: Id, seq: int) -> Call[None]:
        """Withdraw an opinion of an answer; do nothing if there is none."""
        return Call("DELETE", f"/sessions/{address_part(session_id)}/events/{seq}/feedback", None)

    # Runs

    @Operation
    def start_run(
        self, session_id: Id, text: str, *, files: Sequence[StoredFile] = (), client_id: str | None = None
    ) -> Call[Run]:
        """Send a message, with uploads of the session. The same client id again starts no second run."""
        body = _message(text, files, client_id)
        return Call("POST", f"/sessions/{address_part(session_id)}/runs", Run, json=body)

    @Operation
    def run(self, run_id: str) -> Call[Run]:
        """Return a run with its status."""
        return Call("GET", f"/runs/{address_part(run_id)}", Run)

    @Operation
    def cancel_run(self, run_id: str) -> Call[Run]:
        """Stop a queued or running run."""
        return Call("POST", f"/runs/{address_part(run_id)}/cancel", Run)

    @Operation
    def retry_run(self, run_id: str) -> Call[Run]:
        """Retry the last run of a session, which has failed."""
        return Call("POST", f"/runs/{address_part(run_id)}/retry", Run)

    @Operation
    def edit_run(
        self, run_id: str, text: str, *, files: Sequence[StoredFile] = (), client_id: str | None = None
    ) -> Call[Run]:
        """Replace the message of a run: the run and all later runs become an alternative. Return the new run."""
        return Call("POST", f"/runs/{address_part(run_id)}/edit", Run, json=_message(text, files, client_id))

    @Operation
    def rewind(self, run_id: str) -> Call[None]:
        """Undo a run and all later runs, which become an alternative."""
        return Call("POST", f"/runs/{address_part(run_id)}/rewind", None)

    @Operation
    def respond(self, run_id: str, call_id: str, response: dict[str, Any]) -> Call[Run]:
        """Answer a pending long-running call with a response for the agent."""
        body = {"call_id": call_id, "response": response}
        return Call("POST", f"/runs/{address_part(run_id)}/responses", Run, json=body)

    @StreamOperation
    def follow_run(self, run_id: str, *, after: int | None = None) -> Stream:
        """Yield the news of a run until it ends; with `after`, only events after this `seq`."""
        return Stream(f"/runs/{address_part(run_id)}/stream", after)

    @StreamOperation
    def follow_session(self, session_id: Id, *, after: int | None = None) -> Stream:
        """Yield the news of a session until it is deleted or the key ends; with `after`, only events after it."""
        return Stream(f"/sessions/{address_part(session_id)}/stream", after)

    # Approvals and jobs

    @Operation
    def approvals(self, *, cursor: str | None = None) -> Call[Page[Approval]]:
        """List calls and questions that wait for the key's owner, oldest first."""
        return Call("GET", "/approvals", Page[Approval], query={"cursor": cursor})

    @Operation
    def approve(self, approval_id: int, *, changes: dict[str, Any] | None = None) -> Call[None]:
        """Approve the call of a confirmation, with changed values of its payload."""
        body = {"confirmed": True, "changes": changes or {}}
        return Call("POST", f"/approvals/{approval_id}/answer", None, json=body)

    @Operation
    def reject(self, approval_id: int) -> Call[None]:
        """Reject the call of a confirmation."""
        return Call("POST", f"/approvals/{approval_id}/answer", None, json={"confirmed": False})

    @Operation
    def choose(self, approval_id: int, option: int) -> Call[None]:
        """Choose an option of a choice by its number; the first is 0."""
        return Call("POST", f"/approvals/{approval_id}/answer", None, json={"option": option})

    @Operation
    def jobs(
        self, session_id: Id, *, status: str | None = None, cursor: str | None = None
    ) -> Call[Page[Job]]:
        """List the jobs of a session, newest first."""
        query = {"status": status, "cursor": cursor}
        return Call("GET", f"/sessions/{address_part(session_id)}/jobs", Page[Job], query=query)

    @Operation
    def job(self, job_id: Id) -> Call[Job]:
        """Return a job with its arguments and its result."""
        return Call("GET", f"/jobs/{address_part(job_id)}", Job)

    @Operation
    def cancel_job(self, job_id: Id) -> Call[Job]:
        """Stop a queued, running or waiting job."""
        return Call("POST", f"/jobs/{address_part(job_id)}/cancel", Job)

    @Operation
    def answer_job(self, job_id: Id, number: int, answer: bool | str) -> Call[Job]:
        """Answer the question of a job by its number."""
        return Call(
            "POST", f"/jobs/{address_part(job_id)}/answer", Job, json={"number": number, "answer": answer}
        )

    @Operation
    def schedules(self, session_id: Id, *, cursor: str | None = None) -> Call[Page[Schedule]]:
        """List the scheduled tasks of a session, newest first."""
        return Call(
            "GET", f"/sessions/{address_part(session_id)}/schedules", Page[Schedule], query={"cursor": cursor}
        )

    @Operation
    def cancel_schedule(self, schedule_id: int) -> Call[Schedule]:
        """Cancel a scheduled task; do nothing if it has ended."""
        return Call("POST", f"/schedules/{schedule_id}/cancel", Schedule)

    # Files

    @Operation
    def files(self, session_id: Id, *, cursor: str | None = None) -> Call[Page[StoredFile]]:
        """List the files of a session, newest version first."""
        return Call(
            "GET", f"/sessions/{address_part(session_id)}/files", Page[StoredFile], query={"cursor": cursor}
        )

    @Operation
    def upload(
        self, session_id: Id, name: str, content: bytes, mime_type: str = "application/octet-stream"
    ) -> Call[StoredFile]:
        """Store a file, so the next message can refer to it."""
        files = {"file": (name, content, mime_type)}
        return Call("POST", f"/sessions/{address_part(session_id)}/files", StoredFile, files=files)

    @Operation
    def download(self, session_id: Id, name: str, version: int | None = None) -> Call[bytes]:
        """Return the bytes of a file, by default of its newest version."""
        path = f"/sessions/{address_part(session_id)}/files/{quote(name)}"
        return Call("GET", path, None, query={"version": version})


def _message(text: str, files: Sequence[StoredFile], client_id: str | None) -> dict[str, Any]:
    names = [{"name": file.name, "version": file.version} for file in files]
    # Chosen once for all attempts: a message whose response was lost is not sent twice.
    return {"text": text, "files": names, "client_id": client_id or uuid4().hex}
