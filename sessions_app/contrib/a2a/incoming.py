"""Conversion of A2A messages to the input of use cases: text, files, and answers to pending calls and questions.

Clients that know ADK answer a call by a function response with its id. All others write plain text, which is taken as
the answer if only one question is pending.
"""

from collections.abc import Sequence

from a2a.types import Message, Part
from a2a.utils.errors import InvalidParamsError, UnsupportedOperationError

from runtime import types
from runtime.a2a.parts import data_of, function_response_in, json_of
from sessions_app.api.tasks.questions import Answer, AnswerToCall, answer_to_call, answer_to_job
from sessions_app.api.tasks.requests import MAX_MESSAGE_ID_LENGTH, AgentOfCaller, MessageFile
from sessions_app.api.tasks.site_task import SiteTask
from sessions_app.models import Scope


async def receive(agent: AgentOfCaller, message: Message) -> SiteTask:
    """Begin a task with a message, or answer a task. Return the task. Idempotent by the id of the message."""
    if not message.message_id or len(message.message_id) > MAX_MESSAGE_ID_LENGTH:
        raise InvalidParamsError(f"A message needs a messageId of 1 to {MAX_MESSAGE_ID_LENGTH} characters.")
    if not message.task_id:
        return await agent.begin(message.message_id, text_of(message), files_of(message), message.context_id)
    agent.caller.require(Scope.ANSWER)
    task = await agent.find(message.task_id)
    if message.context_id and message.context_id != task.context_id:
        raise InvalidParamsError("The task is not part of this context.")
    if task.has_ended:
        raise UnsupportedOperationError(
            "The task has ended. Send the message without a taskId, in the same context."
        )
    if not task.is_at_rest:
        raise UnsupportedOperationError("The task waits for no answer. Wait until it has ended.")
    return await agent.answer(task, answers_in(message, task))


def text_of(message: Message) -> str:
    """Return the text of a message, with data parts as JSON and linked files as URLs."""
    texts = [part.text or part.url or _json(part) for part in message.parts]
    return "\n".join(text for text in texts if text)


def files_of(message: Message) -> list[MessageFile]:
    files = []
    for number, part in enumerate(message.parts, start=1):
        if part.WhichOneof("content") == "raw":
            files.append(MessageFile(part.filename or f"file-{number}", part.raw))
    return files


def answers_in(message: Message, task: SiteTask) -> Sequence[Answer]:
    """Return the answers in a message: function responses to calls by id, else the text for the only question.

    Raises:
        InvalidParamsError: the message does not tell which question it answers.
        InvalidInputError: the message has no valid answer.
    """
    responses = list(filter(None, map(function_response_in, message.parts)))
    if responses:
        waiting = {call.id: call for call in task.asked}
        return [_named_answer(response, waiting) for response in responses]
    if len(task.asked) + len(task.questions) != 1:
        names = [f"{call.name} ({call.id})" for call in task.asked]
        names += [f"{job.tool_name} (question of a job)" for job in task.questions]
        raise InvalidParamsError(
            f"Several questions wait: {', '.join(names)}. Answer a call by a function response with its id; "
            "questions of several jobs are answered in the chat or by the site's own API."
        )
    text = text_of(message).strip()
    if task.questions:
        return [answer_to_job(task.questions[0], text)]
    call = task.asked[0]
    for data in map(data_of, message.parts):
        if isinstance(data, dict):
            return [AnswerToCall(call.id or "", call.name or "", data)]
    return [answer_to_call(call, text)]


def _named_answer(
    response: types.FunctionResponse, waiting: dict[str | None, types.FunctionCall]
) -> AnswerToCall:
    call = waiting.get(response.id)
    if call is None:
        raise InvalidParamsError(f"No call {response.id!r} of this task waits for an answer.")
    return AnswerToCall(call.id or "", response.name or "", response.response or {})


def _json(part: Part) -> str:
    if part.WhichOneof("content") != "data" or function_response_in(part):
        return ""
    return json_of(part)
