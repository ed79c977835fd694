"""Contract: an agent module written for google-adk finds its imports here, or a page says why not."""

from __future__ import annotations

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
