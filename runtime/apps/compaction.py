"""Compaction: a summary replaces old events in the contents sent to the model (contract R4).

    earlier summary + overlap + new invocations -> summarizer -> summary event that replaces all events up to it

Each summary includes the previous summary, so the number of loaded and sent events stays bounded. Nothing is stored
before the summary exists, so a crash changes nothing. The session is not locked during the model call, which may take
long; `Plan.still_holds` checks before the commit that no rewind and no other summary came first.
"""

from collections.abc import Sequence

from runtime import types
from runtime.agents.base_agent import BaseAgent
from runtime.agents.llm_agent import LlmAgent
from runtime.agents.routing import latest_agent
from runtime.agents.tree import walk
from runtime.apps.app import App, EventsCompactionConfig
from runtime.apps.base_events_summarizer import BaseEventsSummarizer
from runtime.apps.compaction_plan import Plan, last_invocations, plan_compaction
from runtime.apps.llm_event_summarizer import LlmEventSummarizer
from runtime.context import new_invocation_id, session_args
from runtime.errors import ConfigurationError
from runtime.events.event import Event
from runtime.events.event_actions import EventActions, EventCompaction
from runtime.events.rewound import drop_rewound
from runtime.events.summaries import (
    SUMMARY_NOTE_KEY,
    SummaryNote,
    session_allowances,
    summarized_range,
    summary_note,
)
from runtime.sessions.base_session_service import BaseSessionService, GetSessionConfig
from runtime.sessions.session import Session


async def compact(
    app: App, service: BaseSessionService, session: Session, ended: str | None = None
) -> Event | None:
    """Summarize the due events and commit the summary event. Return the event, or None if nothing is due.

    Args:
        session: session as loaded; later events are not summarized.
        ended: id of the latest invocation known to have ended; without an id, the newest invocation is left out.

    Raises:
        ConfigurationError: the app has no LLM agent and its compaction config has no summarizer.
        ModelError: the model call failed.
    """
    config = app.events_compaction_config
    if config is None:
        return None
    plan = plan_compaction(config, session.events, ended)
    if plan is None:
        return None
    overlap = await _load_overlap(config, service, session, plan.previous)
    summary = await _choose_summarizer(app, config).maybe_summarize_events(
        events=plan.summarizer_input(overlap)
    )
    if summary is None or summary.actions.compaction is None:
        return None
    current = await service.get_session(
        **session_args(session), config=GetSessionConfig(without_superseded=True)
    )
    # The session may have been rewound, summarized or deleted while the model wrote the summary.
    if current is None or not plan.still_holds(current.events):
        return None
    note = SummaryNote(
        last_agent=_last_agent(app.root_agent, plan),
        overlap_from=last_invocations(plan.events, max(1, config.overlap_size))[0].timestamp,
        allowances=_allowances(plan),
    )
    content = summary.actions.compaction.compacted_content
    return await service.append_event(session, _summary_event(plan, summary, content=content, note=note))


async def _load_overlap(
    config: EventsCompactionConfig, service: BaseSessionService, session: Session, previous: Event | None
) -> Sequence[Event]:
    """Return the events of the last invocations replaced by the previous summary."""
    # Loaded separately: the session of an invocation lacks replaced events.
    if not config.overlap_size or previous is None:
        return []
    note = summary_note(previous)
    if note is None:
        return []
    since_overlap = GetSessionConfig(after_timestamp=note["overlap_from"])
    recent = await service.get_session(**session_args(session), config=since_overlap)
    if recent is None:
        return []
    events = drop_rewound(recent.events)
    for index, event in enumerate(events):
        if event.id == previous.id:
            covered = summarized_range(events, index)
            if covered is None:
                return []
            originals = [event for event in events[: covered.last + 1] if not event.actions.compaction]
            return last_invocations(originals, config.overlap_size)
    return []


def _summary_event(plan: Plan, summary: Event, *, content: types.Content, note: SummaryNote) -> Event:
    compaction = EventCompaction(
        start_timestamp=plan.start, end_timestamp=plan.events[-1].timestamp, compacted_content=content
    )
    fields = {
        "author": "user",
        "invocation_id": summary.invocation_id or new_invocation_id(),
        "content": None,
        "custom_metadata": {**(summary.custom_metadata or {}), SUMMARY_NOTE_KEY: note},
        "actions": EventActions(compaction=compaction),
    }
    return summary.model_copy(update=fields)


def _last_agent(root: BaseAgent, plan: Plan) -> str:
    """Return the name of the latest agent in the planned events, which the next message goes to."""
    # Not `route_message`: an answer to a call at the end of the range must not decide on the next message.
    return latest_agent(root, plan.log).name


def _allowances(plan: Plan) -> list[tuple[str, str, float]]:
    allowed = session_allowances(plan.log)
    return [(tool.agent, tool.tool, at) for tool, at in allowed.items()]


def _choose_summarizer(app: App, config: EventsCompactionConfig) -> BaseEventsSummarizer:
    if config.summarizer is not None:
        return config.summarizer
    agent = _first_llm_agent(app.root_agent)
    if agent is None:
        raise ConfigurationError(
            f"App {app.name!r} has no LLM agent whose model could summarize events: "
            "give its EventsCompactionConfig a summarizer."
        )
    return LlmEventSummarizer(agent.canonical_model)


def _first_llm_agent(agent: BaseAgent) -> LlmAgent | None:
    for candidate in walk(agent):
        if isinstance(candidate, LlmAgent):
            return candidate
    return None
