"""The triage desk: specialists that may only return, app state across users' sessions (contract A6, S4, E8)."""

from __future__ import annotations

from tests.acceptance.agents.bug_triage import root_agent
from tests.acceptance.agents.stage import Stage
from tests.fakes import call


async def test_a_report_goes_to_the_specialist_and_is_numbered_in_the_app() -> None:
    stage = Stage(
        root_agent,
        triage=[call("transfer_to_agent", agent_name="database")] * 2,
        database=[
            call("file_report", title="Rows are lost", severity="high"),
            "Filed as BUG-1.",
            call("file_report", title="Slow query", severity="low"),
            "Filed as BUG-2.",
        ],
    )
    await stage.open("s1")
    await stage.open("s2")
    first = await stage.say("Rows are lost!", "s1")
    second = await stage.say("A query is slow.", "s2")
    [filed] = second[-2].get_function_responses()
    assert filed.response == {"id": "BUG-2", "title": "Slow query", "severity": "low", "team": "database"}
    assert (first[-1].author, second[-1].author) == ("database", "database")


async def test_a_specialist_is_offered_the_way_back_only() -> None:
    stage = Stage(
        root_agent,
        triage=[call("transfer_to_agent", agent_name="interface"), "Tell me more."],
        interface=[
            call("transfer_to_agent", agent_name="database"),
            call("transfer_to_agent", agent_name="triage"),
        ],
    )
    await stage.open()
    events = await stage.say("Something is broken")
    refused = events[3].get_function_responses()[0].response
    assert refused and "triage" in refused["error"]
    assert events[-1].text() == "Tell me more."
