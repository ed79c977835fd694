"""Contract: a job runs in a worker, shows its progress, and makes the agent answer when it ends."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sessions_app.models import ToolJob
from sessions_app.rendering.html import render_job
from tests.browser.accessibility import serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.flows import CLOSED, PACKED
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.outages import jobs_stopped, kill_jobs
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

REPORT_SECONDS = 60
THOUSAND_MILLISECONDS = 120_000
LOST_MILLISECONDS = 90_000
"""More than a lost job needs to be taken up again, and to end."""
SUCCEEDED = r'"status": "succeeded"'
HEIGHTS_OF_CARD = """
(picture) => {
  const card = picture.closest(".job");
  const shown = card.offsetHeight;
  picture.removeAttribute("src");
  return [shown, card.offsetHeight];
}
"""
"""Heights of the card of a job with its picture, and before this has arrived."""


def play_report(
    model: Model, topic: str, then: Turn, cancelled: Turn | None = None, precise: bool = False
) -> None:
    """Script a model that starts the job on a message with the word "report".

    Args:
        topic: The topic of the report.
        then: The answer after the job has succeeded.
        cancelled: The answer after the job was cancelled; `then` by default.
        precise: True to request a precise report, for which the job asks for approval.
    """
    call = Call(name="write_report", args={"topic": topic, "group_by": "region", "precise": precise})
    model.play(
        rules={
            SUCCEEDED: then,
            r'"status": "cancelled"': cancelled or then,
            r'"status": "queued"': Turn(text=["I have started the report."]),
            "report": Turn(calls=[call]),
        }
    )


def wait_for_progress(page: Page, percent: int) -> int:
    """Wait until the job's progress bar shows more than `percent`; return its value."""
    value = page.wait_for_function(
        "(percent) => { const bar = document.querySelector('.job progress');"
        " return bar && bar.hasAttribute('value') && bar.value > percent && bar.value }",
        arg=percent,
    )
    return int(value.json_value())


def test_a_report_continues_without_a_tab_and_a_later_tab_shows_its_answer(
    chat: ChatPage, open_tab: OpenTab, model: Model, site: Stack, tmp_path: Path
) -> None:
    play_report(model, "sales", then=Turn(text=["The report ", "is ready."]))
    with jobs_stopped(site):
        chat.send("Write me a report on sales")
        chat.wait_for_answer("I have started the report.")
    job = chat.job("Write report")
    expect(job).to_have_attribute("data-status", "running")
    expect(chat.tool("write_report").locator(".elapsed")).to_have_text(re.compile(r"\d s"))
    expect(job.locator(".phases > [data-status=running]")).to_contain_text(re.compile(r"order: \w+\s+\d s"))
    percent = wait_for_progress(chat.page, 0)
    with jobs_stopped(site):
        chat.reload()
        expect(job).to_have_attribute("data-status", "running")
    wait_for_progress(chat.page, percent)
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
    shown, before = picture.evaluate(HEIGHTS_OF_CARD)
    assert shown == before > 300


def test_an_open_tab_sees_the_job_end_and_the_agent_answer(chat: ChatPage, model: Model, site: Stack) -> None:
    play_report(model, "returns", then=Turn(text=["All returns are counted."]))
    with jobs_stopped(site):
        chat.send("A report on returns")
        expect(chat.job("Write report")).to_have_attribute("data-status", "queued")
    chat.wait_for_answer("I have started the report.")
    expect(chat.job("Write report")).to_have_attribute(
        "data-status", "succeeded", timeout=REPORT_SECONDS * 1000
    )
    chat.wait_for_answer("All returns are counted.")
    chat.wait_until_idle()
    phase = chat.job("Write report").locator(".phases > [data-status=succeeded]").first
    for reload in (chat.assert_same_after_reload, lambda: None):
        expect(chat.tool("write_report")).to_have_count(1)
        expect(phase).to_be_hidden()
        assert re.findall("(?:Write|Wrote) report", chat.log.inner_text()) == ["Wrote report"]
        expect(chat.log.locator(".elapsed:visible")).to_have_text([re.compile(r"^\d+ s$")])
        chat.tool("write_report").locator("summary").click()
        expect(phase).to_be_visible()
        expect(phase).to_contain_text(re.compile(r"order: \w+\s+\d s"))
        reload()


def test_a_job_that_the_person_cancels_ends_and_the_agent_answers(chat: ChatPage, model: Model) -> None:
    play_report(model, "sales", then=Turn(text=["It succeeded."]), cancelled=Turn(text=["As you wish."]))
    chat.send("A report on sales")
    wait_for_progress(chat.page, 0)
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    expect(chat.job("Write report")).to_have_attribute("data-status", "cancelled")
    chat.wait_for_answer("As you wish.")
    chat.wait_until_idle()
    expect(chat.errors_shown).to_have_count(0)
    chat.reload()
    expect(chat.job("Write report")).to_have_attribute("data-status", "cancelled")


def test_progress_takes_neither_the_focus_nor_a_press_from_the_cancel_button(
    chat: ChatPage, model: Model
) -> None:
    play_report(model, "sales", then=Turn(text=["It succeeded."]), precise=True)
    chat.send("A precise report on sales")
    job = chat.job("Write report")
    job.get_by_role("button", name="Approve").press("Enter")
    percent = wait_for_progress(chat.page, 0)
    expect(job).to_be_focused()
    cancel = job.get_by_role("button", name="Cancel")
    cancel.focus()
    percent = wait_for_progress(chat.page, percent)
    expect(cancel).to_be_focused()
    cancel.hover()
    chat.page.mouse.down()
    wait_for_progress(chat.page, percent)
    chat.page.mouse.up()
    expect(job).to_have_attribute("data-status", "cancelled")
    expect(job).to_be_focused()


def test_a_delayed_job_shows_its_start_time_and_can_be_cancelled_before_it(
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
    expect(job).to_contain_text(re.compile(r"Waiting until .*\d:\d\d"))
    expect(job.get_by_role("progressbar")).to_have_count(0)
    chat.reload()
    job.get_by_role("button", name="Cancel").click()
    expect(job).to_have_attribute("data-status", "cancelled")
    chat.wait_for_answer("As you wish.")


def test_a_failed_answer_to_a_job_can_be_retried_from_any_tab(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play_report(model, "returns", then=Turn(block_reason="SAFETY"))
    chat.send("A report on returns")
    expect(chat.retry_button).to_be_visible(timeout=REPORT_SECONDS * 1000)
    expect(chat.errors_shown).to_contain_text("safety rules")
    other = open_tab()
    other.open(chat.page.url)
    play_report(model, "returns", then=Turn(text=["The report ", "is ready."]))
    other.retry_button.click()
    for tab in (chat, other):
        tab.wait_for_answer("The report is ready.")
        tab.wait_until_idle()
        expect(tab.retry_button).to_have_count(0)
        expect(tab.answers).to_have_text(["I have started the report.", "The report is ready."])
    chat.assert_same_after_reload()
    expect(chat.retry_button).to_have_count(0)


def test_a_job_that_asks_a_question_waits_and_continues_with_the_answer_of_any_tab(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play_report(
        model, "sales", then=Turn(text=["Done."]), cancelled=Turn(text=["As you wish."]), precise=True
    )
    chat.send("A precise report on sales")
    job = chat.job("Write report")
    expect(job).to_have_attribute("data-status", "waiting")
    expect(job).to_contain_text("A precise report computes for some minutes. Go ahead?")
    chat.wait_for_answer("I have started the report.")
    chat.reload()
    other = open_tab()
    other.open(chat.page.url)
    approve = chat.job("Write report").get_by_role("button", name="Approve")
    approve.focus()
    approve.press("Enter")
    for tab in (chat, other):
        expect(tab.job("Write report").locator(".job-answer")).to_contain_text(
            re.compile(r"Go ahead\?\s+Approved\s+by demo, \d")
        )
        expect(tab.job("Write report").get_by_role("button", name="Approve")).to_have_count(0)
    wait_for_progress(other.page, 0)
    other.job("Write report").get_by_role("button", name="Cancel").click()
    chat.wait_for_answer("As you wish.")
    chat.reload()
    expect(chat.job("Write report")).to_contain_text("Approved by demo")


@pytest.mark.forwarded
def test_a_repeated_question_frame_keeps_the_answer_that_is_being_typed(chat: ChatPage, model: Model) -> None:
    play_report(model, "sales", then=Turn(text=["Done."]), precise=True)
    chat.send("A precise report on sales")
    job = chat.job("Write report")
    expect(job.get_by_role("button", name="Approve")).to_be_visible()
    chat.wait_until_idle()
    question = {
        "text": "Signed by whom?",
        "kind": "text",
        "options": [],
        "asked_at": "2026-11-21T12:00:00+00:00",
    }
    call_id = str(job.get_attribute("data-call-id"))
    row = ToolJob(call_id=call_id, tool_name="write_report", status="waiting", question=question, answers=[])
    frame = {"type": "job", "call_id": call_id, "html": str(render_job(row)), "question": question}
    chat.connection.inject(**frame)
    field = job.get_by_role("textbox", name="Signed by whom?")
    expect(chat.page.get_by_role("status").filter(has_text="Signed by whom?")).to_have_count(1)
    field.press_sequentially("Ada L")
    chat.connection.inject(**frame)  # as after every reconnect
    expect(field).to_be_focused()
    field.press_sequentially("ovelace")
    field.press("Enter")
    expect(chat.page.get_by_role("alert")).to_have_text("There is no such job in this chat.")
    expect(job.get_by_role("button", name="Answer")).to_be_enabled()
    sent = [frame for frame in map(json.loads, chat.connection.sent) if frame["type"] == "answer_job"]
    answer = {"v": 1, "type": "answer_job", "id": str(row.id), "number": 0, "answer": "Ada Lovelace"}
    assert sent == [answer]


def test_an_edit_of_a_message_whose_job_waits_leaves_no_mark(chat: ChatPage, model: Model) -> None:
    play_report(model, "sales", then=Turn(text=["The report is ready."]), precise=True)
    chat.send("A report")
    expect(chat.job("Write report").get_by_role("button", name="Approve")).to_be_visible()
    chat.wait_until_idle()
    model.play(Turn(text=["Then not."]), Turn(text=["Bye."]))
    chat.log.get_by_role("button", name="Edit this message").press("Enter")
    expect(chat.box).to_have_value("A report")
    chat.send("Nothing")
    chat.wait_for_answer("Then not.")
    chat.wait_until_idle()
    chat.send("Goodbye")
    chat.wait_for_answer("Bye.")
    expect(chat.messages).to_have_text(["Nothing", "Goodbye"])
    expect(chat.marks).to_have_count(0)


def test_a_workflow_is_a_list_of_steps_in_every_tab_and_folds_into_its_result(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "returns"})]))
    chat.send("Return order 20990")
    other = open_tab()
    other.open(chat.page.url)
    steps = [tab.log.get_by_role("region", name="Steps of Returns") for tab in (chat, other)]
    for shown in steps:
        expect(shown).to_contain_text("Ask: Waiting for you")
        expect(shown.locator(".beside").first).to_contain_text(
            re.compile("Check stock.*Check fraud", re.DOTALL)
        )
        expect(shown.locator('[data-name="Refuse"]')).to_contain_text("Skipped")
    other.page.set_viewport_size({"width": 360, "height": 740})
    other.reload()
    # On a phone the line of the workflow names the current step.
    expect(steps[1].locator("summary").first).to_contain_text("Ask: Waiting for you")
    expect(steps[1].get_by_text("Check stock")).to_be_hidden()
    chat.log.get_by_role("button", name="Yes").click()
    for tab, shown in zip((chat, other), steps, strict=True):
        expect(tab.log.get_by_text("Order 20990 is refunded.", exact=True)).to_be_visible()
        expect(shown).to_contain_text("7 of 7 steps")
        expect(shown.get_by_text("Mail customer")).to_be_hidden()
    chat.reload()
    steps[0].locator("summary").first.press("Enter")
    expect(steps[0].locator('[data-name="Mail customer"]')).to_be_visible()
    assert serious_problems_in_both_schemes(chat.page) == []
    chat.page.goto(f"{chat.page.url}export/page/")
    printed = chat.page.get_by_role("region", name="Steps of Returns")
    expect(printed.locator('[data-name="Mail customer"]')).to_contain_text(re.compile(r"Done\s+\d+ s"))
    assert serious_problems_in_both_schemes(chat.page) == []
    chat.page.go_back()
    invocation = chat.log.locator("article[data-node]").first.get_attribute("data-invocation")
    staff = open_tab(STAFF)
    path = f"/admin/sessions_app/session/{chat.session_id}/graph/?invocation={invocation}"
    staff.page.goto(staff.address(path))
    drawn = staff.page.get_by_role("link", name=re.compile(r"pay_back\s*Done"))
    drawn.press("Enter")
    row = staff.page.locator("#node-pay_back")
    expect(row).to_be_in_viewport()
    expect(row.get_by_role("cell")).to_have_text(
        ["Done", "1", re.compile(r"\d s|\d ms"), re.compile("20990"), re.compile("paid"), re.compile(r"#\d+")]
    )
    row.get_by_role("link", name="#").press("Enter")
    expect(staff.page.locator(":target")).to_be_in_viewport()
    staff.page.go_back()
    staff.page.get_by_role("link", name="Earlier").click()
    expect(staff.page.get_by_role("link", name=re.compile(r"mail_customer\s*Running"))).to_be_visible()
    assert serious_problems_in_both_schemes(staff.page) == []


def test_a_workflow_ends_though_the_worker_of_its_job_is_killed(
    chat: ChatPage, open_tab: OpenTab, model: Model, site: Stack
) -> None:
    model.play(Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "returns"})]))
    chat.send("Return order 20989")
    chat.log.get_by_role("button", name="Yes").click()
    steps = chat.log.get_by_role("region", name="Steps of Returns")
    paying = steps.locator('[data-name="Pay back"]')
    expect(paying).to_have_attribute("data-state", "background")
    wait_for_progress(chat.page, 0)
    kill_jobs(site)
    other = open_tab()
    other.open(chat.page.url)
    for tab in (chat, other):
        refunded = tab.log.get_by_text("Order 20989 is refunded.", exact=True)
        expect(refunded).to_be_visible(timeout=LOST_MILLISECONDS)
        expect(refunded).to_have_count(1)
        expect(tab.errors_shown).to_have_count(0)
    expect(steps).to_contain_text("7 of 7 steps")
    steps.locator("summary").first.press("Enter")
    expect(paying).to_contain_text("attempt 2")


def test_a_running_step_shows_its_time_and_a_failed_one_is_tried_again(
    open_tab: OpenTab, model: Model, tmp_path: Path
) -> None:
    chat = open_tab().open_new_chat("flows")
    model.play(Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "parcel"})]))
    (tmp_path / CLOSED).touch()
    chat.send(str(tmp_path))
    steps = chat.log.get_by_role("region", name="Steps of Parcel")
    packing, delivering = [steps.locator(f'[data-name="{name}"]') for name in ("Pack", "Deliver")]
    expect(packing).to_contain_text("Running")
    expect(packing.locator(".elapsed")).to_have_text(re.compile(r"^([2-9]|\d\d) s$"))
    expect(delivering).to_contain_text("Not begun")
    (tmp_path / PACKED).touch()
    expect(packing).to_have_attribute("data-state", "done")
    expect(delivering).to_have_attribute("data-state", "failed")
    expect(steps.locator("summary").first).to_contain_text("Deliver: Failed")
    expect(chat.errors_shown).to_have_count(1)
    (tmp_path / CLOSED).unlink()
    chat.retry_button.press("Enter")
    expect(chat.log.get_by_text("Delivered.", exact=True)).to_be_visible()
    expect(steps).to_contain_text("3 of 3 steps")
    expect(chat.retry_button).to_have_count(0)
    expect(chat.errors_shown).to_have_count(0)


def test_the_graph_of_a_thousand_nodes_is_folded_and_its_nodes_are_reached_by_the_keyboard(
    open_tab: OpenTab, model: Model
) -> None:
    chat = open_tab().open_new_chat("flows")
    model.play(Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "thousand"})]))
    chat.send("Count")
    expect(chat.answers).to_have_text(["All are counted."], timeout=THOUSAND_MILLISECONDS)
    invocation = chat.log.locator("article[data-node]").first.get_attribute("data-invocation")
    staff = open_tab(STAFF).page
    staff.goto(chat.address(f"/admin/sessions_app/session/{chat.session_id}/graph/?invocation={invocation}"))
    expect(staff.locator("a.graph-node")).to_have_text(
        [re.compile(rf"{title}.*Done") for title in ("500 nodes", "498 nodes", "2 nodes")]
    )
    staff.get_by_role("link", name=re.compile(r"498 nodes\s*Done")).press("Enter")
    expect(staff.locator("#node-beside_0")).to_be_in_viewport()
    expect(staff.get_by_text("798 more runs")).to_be_visible()
    assert serious_problems_in_both_schemes(staff) == []
