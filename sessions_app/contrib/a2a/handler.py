"""The methods of A2A, called by the SDK's server.

The SDK has a handler with a task store and queues. This handler replaces it: nothing of a task is kept in memory or
stored for A2A, so any process can answer any request, and a task of the chat page looks the same here.

A request that waits follows the session's feed until the task is at rest, that is, until it has ended or asks the user.
"""

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager

from a2a import types as a2a
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.utils import errors

from runtime.a2a.parts import FileBudget
from runtime.errors import AdkError
from sessions_app.api.access.connections import end_on_sign_out
from sessions_app.api.tasks.requests import AgentOfCaller
from sessions_app.api.tasks.site_task import SiteTask
from sessions_app.api.tasks.task_feed import (
    EventNews,
    ProgressNews,
    StateNews,
    TaskFeed,
    TextNews,
    wait_until_at_rest,
)
from sessions_app.conf import conf
from sessions_app.contrib.a2a import push
from sessions_app.contrib.a2a.conversion import artifact_update, piece_update, status_update, task_of
from sessions_app.contrib.a2a.files import MAX_BYTES, ArtifactMaker
from sessions_app.contrib.a2a.incoming import receive
from sessions_app.contrib.a2a.task_list import find_tasks
from sessions_app.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    UnavailableError,
    UnexpectedError,
)
from sessions_app.models import Scope
from sessions_app.process.failures import public_error

AGENT, SCOPE = "adk_agent", "adk_scope"
"""Keys in the state of a call, for its `AgentOfCaller` and the ASGI scope of its request."""
CANCEL_SECONDS = 10.0
"""Maximum time to wait for a cancelled task to come to rest."""
logger = logging.getLogger(__name__)
_KINDS: tuple[tuple[type[AdkError], type[errors.A2AError]], ...] = (
    (NotFoundError, errors.TaskNotFoundError),
    (InvalidInputError, errors.InvalidParamsError),
    (ConflictError, errors.UnsupportedOperationError),
    (UnavailableError, errors.InternalError),
    (UnexpectedError, errors.InternalError),
)

TaskUpdate = a2a.TaskStatusUpdateEvent | a2a.TaskArtifactUpdateEvent


class SiteRequestHandler(RequestHandler):
    """Answer requests from the tables of the site. Stateless."""

    async def on_message_send(self, params: a2a.SendMessageRequest, context: ServerCallContext) -> a2a.Task:
        """Begin or continue a task. Return the task once it is at rest, or immediately if the program asks for it."""
        with _as_a2a_errors():
            task = await _begin_or_continue(params, context)
            if not params.configuration.return_immediately:
                task = await _wait_until_at_rest(task, context, conf().invocation_seconds)
            return await _with_artifacts(task, _history_length(params.configuration))

    async def on_message_send_stream(
        self, params: a2a.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[a2a.Task | TaskUpdate, None]:
        """Begin or continue a task. Yield the task and its updates until it is at rest."""
        with _as_a2a_errors():
            task = await _begin_or_continue(params, context)
            # A program may leave early. `aclosing` then leaves the feed immediately, and not at some garbage
            # collection.
            async with aclosing(_follow(task, context)) as news:
                async for item in news:
                    yield item

    async def on_subscribe_to_task(
        self, params: a2a.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[a2a.Task | TaskUpdate, None]:
        """Yield a task and its updates until it is at rest."""
        with _as_a2a_errors():
            task = await _agent(context).find(params.id)
            if task.has_ended:
                raise errors.UnsupportedOperationError("The task has ended: there is no news of it.")
            async with aclosing(_follow(task, context)) as news:
                async for item in news:
                    yield item

    async def on_get_task(self, params: a2a.GetTaskRequest, context: ServerCallContext) -> a2a.Task:
        """Return a task in its current state."""
        with _as_a2a_errors():
            task = await _agent(context).find(params.id)
            return await _with_artifacts(task, _history_length(params))

    async def on_cancel_task(self, params: a2a.CancelTaskRequest, context: ServerCallContext) -> a2a.Task:
        """Cancel the running work of a task. Return the task once it is at rest, or after `CANCEL_SECONDS`."""
        with _as_a2a_errors():
            try:
                task = await _agent(context).cancel(params.id)
            except ConflictError as error:
                raise errors.TaskNotCancelableError(str(error)) from error
            return await _with_artifacts(await _wait_until_at_rest(task, context, CANCEL_SECONDS), None)

    async def on_list_tasks(
        self, params: a2a.ListTasksRequest, context: ServerCallContext
    ) -> a2a.ListTasksResponse:
        """Return a page of the user's tasks with the agent."""
        with _as_a2a_errors():
            agent = _agent(context)
            agent.caller.require(Scope.READ)
            page = await find_tasks(agent.caller.user, agent.app_name, params)
            length = _history_length(params)
            if params.include_artifacts:
                budget = FileBudget(MAX_BYTES)  # one for the whole response
                tasks = [await _with_artifacts(task, length, budget) for task in page.tasks]
            else:
                tasks = [task_of(task, (), length) for task in page.tasks]
            return a2a.ListTasksResponse(
                tasks=tasks, next_page_token=page.next_token, page_size=page.size, total_size=page.count
            )

    async def on_get_extended_agent_card(
        self, params: a2a.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> a2a.AgentCard:
        raise errors.UnsupportedOperationError("There is no other card than the public one.")

    async def on_create_task_push_notification_config(
        self, params: a2a.TaskPushNotificationConfig, context: ServerCallContext
    ) -> a2a.TaskPushNotificationConfig:
        """Store a configuration: an address to notify when the task comes to rest."""
        with _as_a2a_errors():
            return await push.set_config(_agent(context), params)

    async def on_get_task_push_notification_config(
        self, params: a2a.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> a2a.TaskPushNotificationConfig:
        """Return a configuration of a task."""
        with _as_a2a_errors():
            return await push.find_config(_agent(context), params.task_id, params.id)

    async def on_list_task_push_notification_configs(
        self, params: a2a.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> a2a.ListTaskPushNotificationConfigsResponse:
        """Return all configurations of a task, without pages."""
        with _as_a2a_errors():
            configs = await push.configs_of(_agent(context), params.task_id)
            return a2a.ListTaskPushNotificationConfigsResponse(configs=configs)

    async def on_delete_task_push_notification_config(
        self, params: a2a.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Delete a configuration of a task."""
        with _as_a2a_errors():
            await push.delete_config(_agent(context), params.task_id, params.id)


async def _begin_or_continue(params: a2a.SendMessageRequest, context: ServerCallContext) -> SiteTask:
    """Return the task begun or continued by a message. Store the message's push configuration, if there is any."""
    task = await receive(_agent(context), params.message)
    if params.configuration.HasField("task_push_notification_config"):
        config = params.configuration.task_push_notification_config
        config.task_id = task.id
        await push.set_config(_agent(context), config)
    return task


def _history_length(
    request: a2a.GetTaskRequest | a2a.ListTasksRequest | a2a.SendMessageConfiguration,
) -> int | None:
    return request.history_length if request.HasField("history_length") else None


def _agent(context: ServerCallContext) -> AgentOfCaller:
    agent: AgentOfCaller = context.state[AGENT]
    return agent


async def _follow(task: SiteTask, context: ServerCallContext) -> AsyncGenerator[a2a.Task | TaskUpdate, None]:
    """Yield the task, then its updates until it is at rest."""
    yield await _with_artifacts(task, None)
    feed = TaskFeed(task)
    with end_on_sign_out(_agent(context).caller, context.state[SCOPE], feed.feed):
        async with aclosing(updates_of(feed)) as updates:
            async for update in updates:
                yield update
    feed.refuse_if_ended()


async def _wait_until_at_rest(task: SiteTask, context: ServerCallContext, seconds: float) -> SiteTask:
    return await wait_until_at_rest(task, _agent(context).caller, context.state[SCOPE], seconds)


async def _with_artifacts(
    task: SiteTask, history_length: int | None, budget: FileBudget | None = None
) -> a2a.Task:
    return task_of(task, await ArtifactMaker(task, budget).all(), history_length)


@contextmanager
def _as_a2a_errors() -> Iterator[None]:
    """Convert errors of use cases to an `A2AError`."""
    # The SDK answers any other exception with an internal error, without a sentence for the program.
    try:
        yield
    except errors.A2AError:
        raise
    except Exception as error:
        public = public_error(error, "A request of A2A")
        kind = next((kind for own, kind in _KINDS if isinstance(public, own)), errors.InvalidRequestError)
        raise kind(str(public)) from error


async def updates_of(feed: TaskFeed) -> AsyncGenerator[TaskUpdate, None]:
    """Yield the updates. The last update has the state of the task at rest."""
    async for news in feed.news():
        match news:
            case TextNews():
                # `append` is false for the first piece only: clients would drop the text before any other such piece.
                yield piece_update(feed.task, news.event_id, news.text, is_first=news.is_first)
            case EventNews(event=event):
                artifact = await ArtifactMaker(feed.task).of_event(event)
                if artifact is not None:
                    yield artifact_update(feed.task, artifact)
            case ProgressNews(line=line):
                yield status_update(feed.task, line)
            case StateNews():
                yield status_update(feed.task)
