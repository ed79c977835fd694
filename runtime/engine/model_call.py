"""One model call with its hooks, as a stream of events (contract A8, C1, C2, E7, L10).

    before_model -> model -> response -> after_model -> code, planner -> event
                          -> error    -> on_model_error, or an error response

A streaming model sends fragments, then the whole response. Each becomes an event; partial events and the whole event
share one id and the same call ids, so readers can replace the growing text by the event. One model call may answer with
several whole responses; each begins a new draft.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import zip_longest

from runtime import _platform, types
from runtime.context import Context, InvocationContext
from runtime.engine import hooks
from runtime.engine.build_events import (
    error_response,
    is_long_running,
    model_event,
    new_call_id,
    with_call_ids,
    with_role,
)
from runtime.engine.code_execution import parts_with_code
from runtime.engine.llm_agent_protocol import LlmAgentProtocol
from runtime.engine.request import BuiltRequest
from runtime.errors import ModelError
from runtime.events.calls import find_call_event
from runtime.events.event import Event
from runtime.models.base_llm import BaseLlm
from runtime.models.llm_request import DeclaredTool, LlmRequest
from runtime.models.llm_response import NO_CONTENT, WITHOUT_ANSWER, LlmResponse, parts_in
from runtime.models.rate_limit import ask
from runtime.models.retry import collect_failed_attempts
from runtime.run_config import ModelCall, StreamingMode
from runtime.sessions.state import GROUNDING_KEY

_TEXT_FIELDS = frozenset({"content", "partial"})


@dataclass
class _EventDraft:
    """State of the event under construction.

    Attributes:
        context: context of the hooks; its actions become the event's actions.
        call_ids: ids given to the calls of the partial events, in order.
        partial: the latest partial event if it holds only text; a template for the next event.
        call: report of the model call; None without `RunConfig.on_model_call`.
        is_complete: True after the whole event was built.
    """

    context: Context
    event_id: str = field(default_factory=_platform.new_id)
    call_ids: list[str] = field(default_factory=list)
    partial: Event | None = None
    call: ModelCall | None = None
    is_complete: bool = False

    def add_call_ids(self, response: LlmResponse, tools: Mapping[str, DeclaredTool]) -> LlmResponse:
        """Return the response with a unique id on each call; a whole response reuses the ids of its partial events."""
        calls = response.get_function_calls()
        fragment_ids: list[str] = []
        if not response.partial:
            fragment_ids = self.call_ids[: len(calls)]
        ids: list[str] = []
        for call, fragment_id in zip_longest(calls, fragment_ids):
            # Models may repeat ids. Within the session only long-running calls need a new id: an answer from outside
            # names its call by the id alone, while responses of other calls are paired by function and agent, too.
            is_used = call.id in ids or (is_long_running(call, tools) and self._has_call(call.id))
            if call.id and not is_used:
                ids.append(call.id)
            else:
                ids.append(fragment_id or new_call_id())
        if response.partial:
            self.call_ids += ids
        return with_call_ids(response, ids)

    def _has_call(self, call_id: str | None) -> bool:
        events = self.context.invocation.session.events
        return call_id is not None and find_call_event(events, call_id) is not None

    def start_next_event(self) -> None:
        """Reset for the next event of the same model call, if the previous event is complete."""
        if self.is_complete:
            self.context = Context(self.context.invocation)
            self.event_id = _platform.new_id()
            self.call_ids = []
            self.partial = None
            self.call = None
            self.is_complete = False


async def stream_model_events(
    agent: LlmAgentProtocol, ctx: InvocationContext, model: BaseLlm, built: BuiltRequest
) -> AsyncGenerator[Event, None]:
    """Yield the model's response as events: partial events, then the whole event with the same id."""
    draft = _EventDraft(Context(ctx))
    request = built.request
    answer = await hooks.before_model(agent, draft.context, request)
    if answer is not None:
        yield _build_event(ctx, _post_process(agent, draft.context, answer), request, draft)
        return
    async with aclosing(_ask_model(agent, draft, model, built)) as responses:
        async for response in responses:
            draft.start_next_event()
            response = await hooks.after_model(agent, draft.context, response)
            response = _with_sources(ctx, response, request.tools_dict)
            event = _build_event(ctx, _post_process(agent, draft.context, response), request, draft)
            if draft.call and not event.partial:
                draft.call.answer = event
            draft.is_complete = not event.partial
            yield event


async def _ask_model(
    agent: LlmAgentProtocol, draft: _EventDraft, model: BaseLlm, built: BuiltRequest
) -> AsyncGenerator[LlmResponse, None]:
    """Yield the model's responses; turn an error into a callback's response or an error response (contract E7)."""
    run_config = draft.context.run_config
    request = built.request
    draft.context.invocation.increment_llm_call_count()
    streaming = run_config.streaming_mode is StreamingMode.SSE
    # Before the call, because a call that fails or is cancelled is reported, too.
    call = _report_call(agent, draft, built)
    try:
        async with aclosing(ask(model, request, streaming)) as responses:
            async for response in responses:
                if call and call.first_word_seconds is None:
                    call.first_word_seconds = _platform.now() - call.started_at
                yield response
    except Exception as error:
        # The error gets its own event if a whole response came before it.
        draft.start_next_event()
        replacement = await hooks.on_model_error(agent, draft.context, request, error)
        if replacement is not None:
            yield replacement
        elif isinstance(error, ModelError):
            yield error_response(error)
        else:
            raise


def _report_call(agent: LlmAgentProtocol, draft: _EventDraft, built: BuiltRequest) -> ModelCall | None:
    """Report the start of the call to `RunConfig.on_model_call`; return the report, or None without a callback."""
    invocation = draft.context.invocation
    request = built.request
    on_model_call = invocation.run_config.on_model_call
    if on_model_call is None:
        return None
    call = ModelCall(
        event_id=draft.event_id,
        agent=agent.name,
        branch=invocation.branch,
        last_seq=built.last_seq,
        this_turn_only=agent.include_contents == "none",
        derived=built.derived,
        contents=request.contents,
        model=request.model,
        config=request.config,
        started_at=_platform.now(),
        failed_attempts=collect_failed_attempts(),
    )
    draft.call = call
    on_model_call(call)
    return call


def _build_event(
    ctx: InvocationContext, response: LlmResponse, request: LlmRequest, draft: _EventDraft
) -> Event:
    has_calls = bool(response.get_function_calls())
    if has_calls:
        response = draft.add_call_ids(response, request.tools_dict)
    is_text = not has_calls and response.model_fields_set <= _TEXT_FIELDS
    if response.partial and draft.partial and is_text:
        # Fast path: a long response has hundreds of partial events that differ only in text and timestamp.
        content = with_role(response.content, "model")
        return draft.partial.model_copy(update={"content": content, "timestamp": _platform.now()})
    actions = draft.context.actions
    event = model_event(ctx, response, request.tools_dict, event_id=draft.event_id, actions=actions)
    if is_text:
        draft.partial = event
    else:
        draft.partial = None
    return event


def _with_sources(
    ctx: InvocationContext, response: LlmResponse, tools: Mapping[str, DeclaredTool]
) -> LlmResponse:
    """Return the response with the sources that a tool found, if the tool passes them on."""
    if response.partial or response.grounding_metadata:
        return response
    sources = ctx.session.state.get(GROUNDING_KEY)
    if sources is None:
        return response
    if not any(getattr(tool, "propagate_grounding_metadata", False) for tool in tools.values()):
        return response
    # A copy: later calls of the invocation add to the sources.
    return response.model_copy(update={"grounding_metadata": sources.model_copy(deep=True)})


def _post_process(agent: LlmAgentProtocol, context: Context, response: LlmResponse) -> LlmResponse:
    """Return a whole response after code and planner processing; leave partial responses unchanged.

    A response without an answer becomes an error (contract E7).
    """
    if not response.partial and response.is_unanswered():
        return response.model_copy(update={"error_code": NO_CONTENT, "error_message": WITHOUT_ANSWER})
    parts = parts_in(response.content)
    if response.partial or not parts:
        return response
    if response.error_code:
        # Calls of a broken or blocked response must not be executed (contract E7).
        return _with_parts(response, [part for part in parts if not part.function_call])
    split = parts_with_code(agent, context.invocation, parts)
    if split:
        parts = split
        response = _with_parts(response, split)
    planned = agent.planner and agent.planner.process_planning_response(context, parts)
    context.state.note_changes()
    if planned:
        response = _with_parts(response, planned)
    return response


def _with_parts(response: LlmResponse, parts: list[types.Part]) -> LlmResponse:
    content: types.Content | None = None
    if response.content and parts:
        content = response.content.model_copy(update={"parts": parts})
    return response.model_copy(update={"content": content})
