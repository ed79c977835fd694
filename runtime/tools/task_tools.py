"""Task agents: agents that work for another agent within its session.

    call of the agent -> it runs -> a question to the person -> the person's next message goes to it
                                 -> its result is the response to the call

Such an agent has a sub-agent's `mode`: with `single_turn` its answer is the result, with `task` it talks to the person
until it calls `finish_task`. Its events carry the id of the call as `isolation_scope`: other agents do not see them.
"""

import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from runtime import types
from runtime.context import AgentProtocol, Context, InvocationContext, NodeCall
from runtime.errors import ConfigurationError
from runtime.events.calls import made_calls
from runtime.events.event import Event, child_of
from runtime.events.node_info import child_path
from runtime.models.llm_request import LlmRequest
from runtime.tools.agent_tool import AgentTool
from runtime.tools.output_schema import OutputSchema
from runtime.tools.set_model_response_tool import AnswerTool

FINISH_TASK = "finish_task"
TASK_COMPLETED = "Task completed."


class _Result(BaseModel):
    """Result of a task without an `output_schema`."""

    result: str


class FinishTaskTool(AnswerTool):
    """Accepts the result of a task, which ends the task. A result that is no object is passed as `result`.

    Args:
        output_schema: schema of the agent's result; None: a text.
    """

    def __init__(self, output_schema: Any) -> None:
        super().__init__(
            name=FINISH_TASK,
            description="Give the result of your task, which ends it. Call it once, alone, when all is done.",
            output=OutputSchema(_Result if output_schema is None else output_schema, FINISH_TASK),
            wrapper="result",
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Accept the result; return `{'error': …}` for an invalid result."""
        return self.accept(args, tool_context) or TASK_COMPLETED

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions(
            [
                f"You work on a task. Ask the user for what is missing. When the task is done, call `{self.name}` "
                "with its result, alone and without a text."
            ]
        )


def finishes_task(event: Event) -> bool:
    """Return True if the event holds the accepted result of a task."""
    for answer in event.get_function_responses():
        if answer.name == FINISH_TASK and answer.response == {"result": TASK_COMPLETED}:
            return True
    return False


class TaskAgentTool(AgentTool):
    """Runs a sub-agent in the session of the caller; its result is the response to the call.

    While the agent waits for the person, the call has no response.

    Args:
        is_task: True for an agent that talks to the person until it calls `finish_task`.
    """

    def __init__(self, agent: AgentProtocol, *, is_task: bool) -> None:
        super().__init__(agent)
        self.is_task = is_task

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Return the agent's result; None while the agent waits for the person.

        Raises:
            ConfigurationError: the tool is called outside of an agent's step.
        """
        try:
            text = self._message(args)
        except ValidationError as error:
            return self._bad_arguments(error)
        if self._input is not None:
            text = json.dumps(json.loads(text), ensure_ascii=False)
        elif self.is_task:
            text = json.dumps({"request": text}, ensure_ascii=False)
        ctx = tool_context.invocation
        emit = ctx.emit
        call_id = tool_context.function_call_id
        if emit is None or call_id is None:
            raise ConfigurationError(
                f"Agent {self.name!r} works for an agent only: it cannot be called alone."
            )
        inner = self._context(ctx, call_id, text)
        async with aclosing(self.agent.run_async(inner)) as events:
            async for event in events:
                await emit(event)
        return self._result_in(_events_of(ctx, call_id))

    def _context(self, ctx: InvocationContext, call_id: str, text: str) -> InvocationContext:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        own = [event for event in _events_of(ctx, call_id) if event.author != "user"]
        name = f"{self.name}@{call_id}"
        return replace(
            ctx,
            agent=self.agent,
            user_content=message,
            branch=child_of(ctx.branch, ctx.agent.name, name),
            resuming=any(event.invocation_id == ctx.invocation_id for event in own),
            node=NodeCall(
                child_path(ctx.node_path or f"{ctx.agent.name}@1", self.name, call_id),
                message=message,
                isolation_scope=call_id,
            ),
        )

    def _result_in(self, events: list[Event]) -> Any:
        """Return the result that the agent's events hold; None while it waits."""
        if self.is_task:
            for event in reversed(events):
                if finishes_task(event):
                    return event.actions.set_model_response
            return None
        own = [event for event in events if event.author != "user"]
        # The last call: it waits itself, or for an agent that it has called.
        if any(made.is_pending for made in made_calls(events)) or (own and own[-1].get_function_calls()):
            return None
        return self._result_of(own)


def _events_of(ctx: InvocationContext, call_id: str) -> list[Event]:
    return [event for event in ctx.session.events if event.isolation_scope == call_id]
