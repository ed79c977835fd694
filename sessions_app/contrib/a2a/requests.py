"""Requests about tasks: begin, answer, cancel, read. Each calls use cases for the caller's user.

Messages are safe to repeat: session id and client id derive from the message's id (`unguessable_id`), so a message that
is sent again finds the session and the invocation of the first time.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from a2a.types import ListTasksRequest, Message
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from sessions_app import use_cases
from sessions_app.api.access.callers import Caller
from sessions_app.contrib.a2a.incoming import AnswerToCall, answers_in, files_of, text_of
from sessions_app.contrib.a2a.task_list import TaskPage, find_tasks
from sessions_app.contrib.a2a.tasks import SiteTask, find_task, load_task
from sessions_app.models import Invocation, InvocationStatus, JobStatus, Scope, Session
from sessions_app.process.threads import in_thread
from sessions_app.secrets.digests import unguessable_id
from sessions_app.use_cases import upload_bytes

MAX_MESSAGE_ID_LENGTH = 1_000


@dataclass(frozen=True)
class AgentOfCaller:
    """An app and its caller. The methods raise errors of the use cases and of A2A."""

    caller: Caller
    app_name: str

    async def find(self, task_id: str) -> SiteTask:
        """Return a task of the caller's user.

        Raises:
            PermissionDeniedError: the key lacks the scope `read`.
            TaskNotFoundError: there is no such task, or it belongs to another user.
        """
        self.caller.require(Scope.READ)
        task = await find_task(self.caller.user, self.app_name, task_id)
        if task is None:
            raise TaskNotFoundError("There is no such task here.")
        return task

    async def find_all(self, request: ListTasksRequest) -> TaskPage:
        """Return a page of the tasks of the caller's user.

        Raises:
            PermissionDeniedError: the key lacks the scope `read`.
            InvalidParamsError: the page size or the token is invalid.
        """
        self.caller.require(Scope.READ)
        return await find_tasks(self.caller.user, self.app_name, request)

    async def receive(self, message: Message) -> SiteTask:
        """Begin a task with a message, or answer a task. Return the task. Idempotent by the id of the message."""
        if not message.message_id or len(message.message_id) > MAX_MESSAGE_ID_LENGTH:
            raise InvalidParamsError(
                f"A message needs a messageId of 1 to {MAX_MESSAGE_ID_LENGTH} characters."
            )
        return await (self._answer(message) if message.task_id else self._begin(message))

    async def cancel(self, task_id: str) -> SiteTask:
        """Cancel the invocations and jobs of a task; the agent is notified of cancelled jobs.

        Raises:
            PermissionDeniedError: the key lacks the scope `run` or `read`.
            TaskNotFoundError: the caller's user has no such task.
            TaskNotCancelableError: no invocation or job of the task is queued or running.
        """
        self.caller.require(Scope.RUN)
        task = await self.find(task_id)
        by = self.caller.actor_for(self.caller.user)
        session_id = task.session.pk
        active = [row for row in task.invocations if row.status in InvocationStatus.active()]
        jobs = [job for job in task.jobs if job.status in JobStatus.open()]
        if not active and not jobs:
            state = "has ended" if task.has_ended else "waits for an answer"
            raise TaskNotCancelableError(f"Nothing of the task runs: it {state}.")
        for row in active:
            await use_cases.cancel(by, session_id, row.invocation_id)
        for job in jobs:
            await use_cases.cancel_job(by, session_id, job.pk)
        return await load_task(task.invocations[0])

    async def _begin(self, message: Message) -> SiteTask:
        self.caller.require(Scope.RUN)
        user = self.caller.user
        text = text_of(message)
        files = files_of(message)
        words = f"{user.pk} {self.app_name} {message.context_id} {message.message_id}"
        message_id = unguessable_id("sessions_app.a2a", words)
        client_id = f"a2a:{message_id.hex}"
        if message.context_id:
            session_id = (await self._session(message.context_id)).pk
        else:
            # Derived, so a repeated message does not begin a second session.
            session_id = message_id
        rows = Invocation.objects.without_details().select_related("session")
        if files:
            own = rows.filter(session=session_id, session__user=user.pk, session__deleted_at=None)
            if begun := await in_thread(own.filter(client_id=client_id).first):
                return await load_task(begun)  # A repeated message must not store its files again.
        elif not message.context_id:  # With files, the first upload creates the session.
            network = self.caller.network
            await use_cases.begin_session(user, session_id, self.app_name, client_id, text, network=network)
        new_app = "" if message.context_id else self.app_name
        names = [
            await upload_bytes(user, session_id, file.name, file.data, self.caller.network, new_app=new_app)
            for file in files
        ]
        invocation_id, _ = await use_cases.send_message(
            self.caller.actor_for(user), session_id, client_id, text, names
        )
        return await load_task(await in_thread(rows.get, invocation_id=invocation_id))

    async def _answer(self, message: Message) -> SiteTask:
        self.caller.require(Scope.ANSWER)
        task = await self.find(message.task_id)
        if message.context_id and message.context_id != task.context_id:
            raise InvalidParamsError("The task is not part of this context.")
        if task.has_ended:
            raise UnsupportedOperationError(
                "The task has ended. Send the message without a taskId, in the same context."
            )
        if not task.is_at_rest:
            raise UnsupportedOperationError("The task waits for no answer. Wait until it has ended.")
        by = self.caller.actor_for(self.caller.user)
        session_id = task.session.pk
        for answer in answers_in(message, task):
            if isinstance(answer, AnswerToCall):
                await use_cases.answer_call(by, session_id, answer.call_id, answer.name, answer.response)
            else:
                number = len(answer.job.answers)
                await use_cases.answer_job(by, session_id, answer.job.pk, number, answer.answer)
        return await load_task(task.invocations[0])

    async def _session(self, context_id: str) -> Session:
        own = Session.objects.owned_by(self.caller.user).filter(app_name=self.app_name)
        try:
            session = await in_thread(own.filter(pk=UUID(context_id)).first)
        except ValueError:
            session = None
        if session is None:
            raise InvalidParamsError("There is no such context here. Leave contextId out to begin a new one.")
        return session
