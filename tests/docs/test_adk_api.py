"""Contract: an agent module written for google-adk finds its imports here, or a page says why not."""

from __future__ import annotations

from pydantic import BaseModel

from runtime.events import Event
from runtime.events.node_info import NodeInfo
from runtime.models import LlmResponse
from tests.adk_api.members import absent_members, member_reasons, reason_for_member
from tests.adk_api.table import PAGE, modules, page, reason_for, reasons


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run .venv/bin/python -m tests.adk_api"


def test_every_absent_name_has_a_reason() -> None:
    unexplained = [
        f"{module.name}:{name}"
        for module in modules()
        for name in module.absent
        if reason_for(module.name, name) is None
    ]
    assert unexplained == []


def test_every_reason_is_needed() -> None:
    absent = [(module.name, name) for module in modules() for name in module.absent]
    places = {f":{name}" for _, name in absent} | {module for module, _ in absent}
    unneeded = [
        place
        for place in reasons()
        if place not in places and not any(known.startswith(f"{place}.") for known in places)
    ]
    assert unneeded == []


def test_every_absent_parameter_and_member_has_a_reason() -> None:
    assert [absent.place for absent in absent_members() if reason_for_member(absent) is None] == []


def test_every_reason_of_a_member_is_needed() -> None:
    places = {place for absent in absent_members() for place in (f":{absent.name}", absent.place)}
    assert [place for place in member_reasons() if place not in places] == []


def test_an_absent_parameter_is_refused_and_not_ignored() -> None:
    from_logs = {Event, LlmResponse, NodeInfo}  # another version may have written a field
    owners = {absent.owner for absent in absent_members() if absent.is_parameter} - from_logs
    ignoring = [
        owner
        for owner in owners
        if issubclass(owner, BaseModel) and owner.model_config.get("extra") != "forbid"
    ]
    assert ignoring == []
