"""Requests about tasks: begin, answer, cancel, read. Each calls use cases for the caller's user.

Messages are safe to repeat: session id and client id derive from the message's id (`unguessable_id`), so a message that
is sent again finds the session and the invocation of the first time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sessions_app import use_cases
from sessions_app.api.access.callers import Caller
from sessions_app.api.tasks.questions import Answer, AnswerToCall
from sessions_app.api.tasks.site_task import SiteTask, find_task, load_task
from sessions_app.errors import ConflictError, InvalidInputError, NotFoundError
from sessions_app.models import Invocation, InvocationStatus, JobStatus, Scope, Session
from sessions_app.process.threads import in_thread
from sessions_app.secrets.digests import unguessable_id
from sessions_app.store.uploads import check_file_count

MAX_MESSAGE_ID_LENGTH = 1_000


@dataclass(frozen=True)
class MessageFile:
    name: str
    data: bytes


@dataclass(frozen=True)
class AgentOfCaller:
    """An app and its caller. The methods also raise the errors of the use cases.

    Attributes:
        protocol: name of the protocol, which begins the client ids of its messages.
    """

    caller: Caller
    app_name: str
    protocol: str

    async def find(self, task_id: str) -> SiteTask:
        """Return a task of the caller's user.

        Raises:
            PermissionDeniedError: the key lacks the scope `read`.
            NotFoundError: there is no such task, or it belongs to another user.
        """
        self.caller.require(Scope.READ)
        task = await find_task(self.caller.user, self.app_name, task_id)
        if task is None:
            raise NotFoundError("There is no such task here.")
        return task

    async def begin(
        self, message_id: str, text: str, files: Sequence[MessageFile] = (), session_id: str = ""
    ) -> SiteTask:
        """Begin a task with a message, in a new session or in the one that is named. Idempotent by the message's id.

        Raises:
            PermissionDeniedError: the key lacks the scope `run`.
            InvalidInputError: the user has no such session with the app, or there are too many files.
        """
        self.caller.require(Scope.RUN)
        check_file_count(len(files))
        user = self.caller.user
        words = f"{user.pk} {self.app_name} {session_id} {message_id}"
        derived_id = unguessable_id(f"sessions_app.{self.protocol}", words)
        client_id = f"{self.protocol}:{derived_id.hex}"
        # Derived, so a repeated message does not begin a second session.
        session = (await self._session(session_id)).pk if session_id else derived_id
        rows = Invocation.objects.without_details().select_related("session")
        if files:
            own = rows.filter(session=session, session__user=user.pk, session__deleted_at=None)
            if begun := await in_thread(own.filter(client_id=client_id).first):
                return await load_task(begun)  # A repeated message must not store its files again.
        network = self.caller.network
        new_app = ""
        chat: UUID | use_cases.NewChat = session
        if not session_id:
            new_app = self.app_name
            chat = use_cases.NewChat(session, new_app, network)
        names = []
        for number, file in enumerate(files):
            # Derived, too: the message may come again while its files are being stored.
            upload_id = unguessable_id(f"sessions_app.{self.protocol}", f"{words} {number}")
            name = await use_cases.upload_bytes(
                user, session, file.name, file.data, network, new_app=new_app, upload_id=upload_id
            )
            names.append(name)
        by = self.caller.actor_for(user)
        admitted = await use_cases.send_message(by, chat, client_id, text, names)
        return await load_task(await in_thread(rows.get, invocation_id=admitted.invocation_id))

    async def answer(self, task: SiteTask, answers: Iterable[Answer]) -> SiteTask:
        """Answer calls and questions of a task.

        Raises:
            PermissionDeniedError: the key lacks the scope `answer`.
        """
        self.caller.require(Scope.ANSWER)
        by = self.caller.actor_for(self.caller.user)
        session_id = task.session.pk
        for answer in answers:
            if isinstance(answer, AnswerToCall):
                await use_cases.answer_call(by, session_id, answer.call_id, answer.name, answer.response)
            else:
                number = len(answer.job.answers)
                await use_cases.answer_job(by, session_id, answer.job.pk, number, answer.answer)
        return await load_task(task.invocations[0])

    async def cancel(self, task_id: str) -> SiteTask:
        """Cancel the invocations and jobs of a task; the agent is notified of cancelled jobs.

        Raises:
            PermissionDeniedError: the key lacks the scope `run` or `read`.
            NotFoundError: the caller's user has no such task.
            ConflictError: no invocation or job of the task is queued or running.
        """
        self.caller.require(Scope.RUN)
        task = await self.find(task_id)
        by = self.caller.actor_for(self.caller.user)
        session_id = task.session.pk
        active = [row for row in task.invocations if row.status in InvocationStatus.active()]
        jobs = [job for job in task.jobs if job.status in JobStatus.open()]
        if not active and not jobs:
            state = "has ended" if task.has_ended else "waits for an answer"
            raise ConflictError(f"Nothing of the task runs: it {state}.")
        for row in active:
            await use_cases.cancel(by, session_id, row.invocation_id)
        for job in jobs:
            await use_cases.cancel_job(by, session_id, job.pk)
        return await load_task(task.invocations[0])

    async def _session(self, session_id: str) -> Session:
        own = Session.objects.owned_by(self.caller.user).filter(app_name=self.app_name)
        try:
            session = await in_thread(own.filter(pk=UUID(session_id)).first)
        except ValueError:
            session = None
        if session is None:
            raise InvalidInputError(
                "There is no such conversation here. Leave its id out to begin another one."
            )
        return session
