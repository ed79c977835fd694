"""Contract: long work runs in the worker, shows where it is, and reports back by itself (issue 2, step 4).

Acceptance points 5 and 6.
"""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

REPORT_SECONDS = 60
SUCCEEDED = r'"status": "succeeded"'


def play_report(model: Model, topic: str, then: Turn, cancelled: Turn | None = None) -> None:
    """A message that mentions a report starts the job; `then` is what the agent says when it has succeeded."""
    call = Call(name="write_report", args={"topic": topic, "group_by": "region"})
    model.play(
        rules={
            SUCCEEDED: then,
            r'"status": "cancelled"': cancelled or then,
            r'"status": "queued"': Turn(text=["I have started the report."]),
            "report": Turn(calls=[call]),
        }
    )


def wait_for_more(page: Page, percent: int) -> int:
    """Wait until the job on the page has come further; returns how far."""
    further = page.wait_for_function(
        "(known) => { const bar = document.querySelector('.job progress');"
        " return bar && bar.hasAttribute('value') && bar.value > known && bar.value }",
        arg=percent,
    )
    return int(further.json_value())


def test_a_report_goes_on_without_the_tab_and_its_answer_is_there_afterwards(
    chat: ChatPage, open_tab: OpenTab, model: Model, tmp_path: Path
) -> None:
    play_report(model, "sales", then=Turn(text=["The report ", "is ready."]))
    chat.send("Write me a report on sales")
    chat.wait_for_answer("I have started the report.")
    job = chat.job("Write report")
    expect(job).to_have_attribute("data-status", "running")
    expect(job.locator(".elapsed")).to_have_text(re.compile(r"\d s"))
    percent = wait_for_more(chat.page, 0)
    chat.reload()
    expect(job).to_have_attribute("data-status", "running")
    wait_for_more(chat.page, percent)
    address = chat.page.url
    chat.page.close()

    model.wait_until_asked(SUCCEEDED, seconds=REPORT_SECONDS)
    later = open_tab()
    later.open(address)
    later.wait_for_answer("The report is ready.")
    later.wait_until_idle()
    job = later.job("Write report")
    expect(job).to_have_attribute("data-status", "succeeded")
    expect(job.locator("progress")).to_have_count(0)
    expect(later.tool("write_report")).to_have_attribute("data-state", "ok")
    expect(later.answers).to_have_text(["I have started the report.", "The report is ready."])

    name = "sales-by-region"
    expect(later.files).to_have_text([f"{name}.png", f"{name}.csv", f"{name}.md"])
    rows = list(csv.DictReader(io.StringIO(later.save(f"{name}.csv", tmp_path).decode())))
    assert len(rows) > 1 and all(float(row["total"]) > 0 for row in rows)
    assert later.save(f"{name}.md", tmp_path).startswith(b"# Sales by region")
    picture = job.get_by_role("img", name=f"{name}.png")
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible()
    later.page.wait_for_function("() => document.querySelector('.job img').naturalWidth > 300")


def test_an_open_tab_sees_the_job_end_and_the_agent_answer(chat: ChatPage, model: Model) -> None:
    play_report(model, "returns", then=Turn(text=["All returns are counted."]))
    chat.send("A report on returns")
    expect(chat.job("Write report")).to_have_attribute("data-status", re.compile("queued|running"))
    chat.wait_for_answer("I have started the report.")
    expect(chat.job("Write report")).to_have_attribute(
        "data-status", "succeeded", timeout=REPORT_SECONDS * 1000
    )
    chat.wait_for_answer("All returns are counted.")
    chat.wait_until_idle()
    live = chat.shown()
    chat.reload()
    assert chat.shown() == live


def test_a_job_that_the_person_cancels_ends_and_the_agent_is_told(chat: ChatPage, model: Model) -> None:
    play_report(model, "sales", then=Turn(text=["It succeeded."]), cancelled=Turn(text=["As you wish."]))
    chat.send("A report on sales")
    wait_for_more(chat.page, 0)
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    expect(chat.job("Write report")).to_have_attribute("data-status", "cancelled")
    chat.wait_for_answer("As you wish.")
    chat.wait_until_idle()
    expect(chat.errors_shown).to_have_count(0)
    chat.reload()
    expect(chat.job("Write report")).to_have_attribute("data-status", "cancelled")


def test_a_job_that_is_put_off_says_when_it_starts_and_can_be_cancelled_before(
    chat: ChatPage, model: Model
) -> None:
    call = Call(name="write_report", args={"topic": "sales", "run_at": "in 2 hours"})
    model.play(
        rules={
            r'"status": "cancelled"': Turn(text=["As you wish."]),
            r'"status": "queued"': Turn(text=["It starts later."]),
            "report": Turn(calls=[call]),
        }
    )
    chat.send("A report on sales, later")
    chat.wait_for_answer("It starts later.")
    job = chat.job("Write report")
    expect(job).to_have_attribute("data-status", "queued")
    expect(job).to_contain_text(re.compile(r"Starts at .*\d:\d\d"))
    expect(job.get_by_role("progressbar")).to_have_count(0)
    chat.reload()
    job.get_by_role("button", name="Cancel").click()
    expect(job).to_have_attribute("data-status", "cancelled")
    chat.wait_for_answer("As you wish.")
