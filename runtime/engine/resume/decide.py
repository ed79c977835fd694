"""Decision on how an LLM agent resumes: a pure function of the committed events (contract R1, T5).

The agent's latest event shows where the step was interrupted:

    nothing yet             -> Continue    call the model
    calls without response  -> Replay      run the calls; Pause if a long-running call waits
    request needed, not made-> AskPerson   ask for confirmations and credentials
    code without result     -> RunCode
    transfer                -> TransferTo
    responses, code result  -> Continue
    final response          -> Done        or TransferTo, if an agent below continued

`engine.step` acts on the decision. A call or code with a result never runs again; without a result it runs at least
once, because a crash between its effect and the commit leaves no trace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from runtime import types
from runtime.code_executors.code_blocks import trailing_code
from runtime.context import AgentProtocol, InvocationContext
from runtime.engine.resume.agent_progress import entry_agent, find_latest_agent, is_own, own_events
from runtime.events.calls import answered_ids, call_ids, is_framework_request, made_calls, response_ids
from runtime.events.event import Event, index_of
from runtime.events.event_actions import EventActions


@dataclass(frozen=True)
class Continue:
    """Call the model next."""


@dataclass(frozen=True)
class Pause:
    """Wait: a long-running call has no response yet."""


@dataclass(frozen=True)
class Done:
    """Do nothing: the agent call was complete."""


@dataclass(frozen=True)
class TransferTo:
    """Run the target of the agent's transfer."""

    agent_name: str


@dataclass(frozen=True)
class Replay:
    """Run calls without a response: they may or may not have run."""

    calls: list[types.FunctionCall] = field(default_factory=list)


@dataclass(frozen=True)
class AskPerson:
    """Ask the person for input to calls with a "pending" response (contract T7, T8)."""

    calls: list[types.FunctionCall]
    actions: EventActions


@dataclass(frozen=True)
class RunCode:
    """Run the code at the end of the latest event, which has no result."""

    event: Event


Decision = Continue | Pause | Done | TransferTo | Replay | AskPerson | RunCode


def decide_resume(ctx: InvocationContext) -> Decision:
    """Decide how the context's LLM agent continues its interrupted invocation.

    Replay only calls that the agent made in this invocation.
    """
    # Other events may come from a client, which must not be able to execute a tool.
    log = ctx.events()
    # First, because an answer starts new work, which an earlier content or transfer of the agent does not end.
    calls = _call_event(ctx, log, _answered_since_latest_content(ctx, log))
    if calls is not None:
        return _decide_on_calls(calls, log)
    own = [event for event in own_events(ctx) if _shows_progress(event)]
    request = None
    if own and is_framework_request(own[-1]):
        # The request follows the event whose calls it asks about; this earlier event decides.
        request = own.pop()
    if not own:
        return Continue()
    if request is None or _is_open(request, log):
        decision = _decide_on_latest(own, is_asked=request is not None)
        if decision == Done():
            agent = _agent_that_continued(ctx, log, own[-1])
            if agent is not None:
                return TransferTo(entry_agent(agent, ctx.agent).name)
        if decision is not None:
            return decision
    calls = _call_event(ctx, log, call_ids(own[-1]) | response_ids(own[-1]))
    if calls is None:
        return Continue()
    return _decide_on_calls(calls, log)


def _decide_on_latest(own: Sequence[Event], *, is_asked: bool) -> Decision | None:
    """Decide from the agent's latest event alone; return None if the calls of its step have to be examined.

    Args:
        is_asked: True if the person was asked for input to the calls.
    """
    latest = own[-1]
    actions = latest.actions
    if latest.get_function_calls():
        return None
    if latest.has_trailing_code_execution_result():
        return Continue()
    if trailing_code(latest.content):
        return RunCode(latest)
    if actions.asks_person() and not is_asked:
        return AskPerson(_answered_by(latest, own), actions)
    if actions.transfer_to_agent:
        return TransferTo(actions.transfer_to_agent)
    if latest.get_function_responses() and not actions.skip_summarization:
        return None
    return Done()


def _decide_on_calls(calls: Event, log: Sequence[Event]) -> Decision:
    """Decide from an event with calls of the agent and the invocation's events (contract Q10)."""
    since = _own_since(calls, log)
    unanswered = [made for made in made_calls(log) if made.event is calls and not made.answers]
    have_run = _have_surely_run(calls, log, since)
    # A long-running tool may return nothing at first, so a missing response does not prove that it never ran.
    not_run = [made.call for made in unanswered if not (have_run and made.is_long_running)]
    if not_run:
        return Replay(not_run)
    if any(made.is_pending for made in unanswered):
        return Pause()
    for event in since:
        if is_framework_request(event) and _is_open(event, log):
            return Pause()
    return Continue()


def _have_surely_run(calls: Event, log: Sequence[Event], since: Sequence[Event]) -> bool:
    """Return True if the events prove that the calls ran, although a long-running tool gave no response."""
    if any(later.content or later.actions != EventActions() for later in since):
        return True
    # A message of the person is only accepted after the run.
    messages = log[index_of(log, calls) + 1 :]
    return any(later.author == "user" and later.content for later in messages)


def _answered_by(event: Event, events: Sequence[Event]) -> list[types.FunctionCall]:
    answered = response_ids(event)
    calls: dict[str | None, types.FunctionCall] = {}
    for earlier in events:
        for call in earlier.get_function_calls():
            if call.id in answered:
                calls[call.id] = call
    return list(calls.values())


def _answered_since_latest_content(ctx: InvocationContext, log: Sequence[Event]) -> set[str]:
    """Return the ids of the calls answered by the person since the agent's latest content, on any branch."""
    answered: set[str] = set()
    for event in reversed(log):
        if event.author == "user":
            answered |= response_ids(event)
        elif event.author == ctx.agent.name and _shows_progress(event):
            break
    return answered


def _agent_that_continued(
    ctx: InvocationContext, log: Sequence[Event], latest: Event
) -> AgentProtocol | None:
    """Return the descendant that spoke or was answered after the agent's latest event, or None."""
    since = log[index_of(log, latest) + 1 :]
    agent = find_latest_agent(ctx.agent, since, log)
    if agent is ctx.agent:
        return None
    return agent


def _call_event(ctx: InvocationContext, log: Sequence[Event], ids: set[str]) -> Event | None:
    """Return the latest event with a call of the agent whose id is in `ids`."""
    for event in reversed(log):
        if ids & call_ids(event) and is_own(event, ctx) and not is_framework_request(event):
            return event
    return None


def _own_since(calls: Event, log: Sequence[Event]) -> list[Event]:
    """Return the later events of the agent that made the calls."""
    later = log[index_of(log, calls) + 1 :]
    return [event for event in later if event.author == calls.author and event.branch == calls.branch]


def _is_open(request: Event, log: Sequence[Event]) -> bool:
    """Return True if the person has not answered all calls of a request."""
    return not call_ids(request) <= answered_ids(log)


def _shows_progress(event: Event) -> bool:
    """Return True for an event with a content or a transfer, unless it records an error or an interruption."""
    if event.error_code or event.interrupted:
        return False
    return bool(event.content or event.actions.transfer_to_agent)
