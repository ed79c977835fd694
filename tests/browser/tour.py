"""`make tour`: use the site in a browser, and write docs/tour.md with pictures of the states of its pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from adk_site.embedded.paths import CHECKOUT
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import PERSON, STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_jobs import play_report, wait_for_progress
from tests.model_server import Call, Turn
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

DOCS = CHECKOUT / "docs"
PICTURES = DOCS / "tour"
WIDE, BESIDE, PHONE = (1100, 760), (1280, 760), (360, 720)
HEAD = """# Tour

The pages of the site as they are. `make tour` makes this page anew, with a scripted model.
"""
ANSWER = """There are two lamps:

| Lamp | Price |
|---|--:|
| Desk lamp *Ada* | 49 € |
| Floor lamp *Grace* | 120 € |

- [x] both in stock
- [ ] both on sale

```python
def total(prices: list[float]) -> float:
    return sum(prices)  # with tax
```

Tell me which"""


class Tour:
    """The page docs/tour.md, to which each part adds pictures."""

    def __init__(self) -> None:
        shutil.rmtree(PICTURES, ignore_errors=True)
        PICTURES.mkdir()
        self._lines = [HEAD]

    def add(
        self, page: Page, name: str, caption: str, size: tuple[int, int] = WIDE, dark: bool = False
    ) -> None:
        """Take a picture of the page."""
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        page.evaluate("() => document.fonts.ready")
        page.wait_for_timeout(300)  # styles and colours that are loaded later
        page.screenshot(path=PICTURES / f"{name}.png")
        self._lines.append(f"{caption}\n\n![{caption}](tour/{name}.png)\n")

    def write(self) -> None:
        """Write the page."""
        (DOCS / "tour.md").write_text("\n".join(self._lines))


@pytest.fixture(scope="module")
def tour() -> Iterator[Tour]:
    tour = Tour()
    yield tour
    tour.write()


def approval(chat: ChatPage) -> Locator:
    return chat.log.get_by_role("region", name="Approval: Refund order 1001")


def test_an_answer(chat: ChatPage, model: Model, tour: Tour) -> None:
    tour.add(chat.page, "new-chat", "A new chat: the agent, what it can do, and messages to begin with.")
    pieces = [line + "\n" for line in ANSWER.split("\n")]
    model.play(Turn(text=[*pieces, " you like."], hold_before=[len(pieces)]))
    chat.send("Which lamps do you have?")
    expect(chat.growing.locator(".hljs-keyword").first).to_be_visible()
    tour.add(chat.page, "streaming", "An answer while it streams: each block is drawn as it grows.")
    tour.add(chat.page, "phone", "The same on a phone, dark.", PHONE, dark=True)
    model.release()
    chat.wait_until_idle()
    chat.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    model.play(Turn(text=["The desk lamp is the cheaper one."]))
    chat.page.get_by_role("button", name="Regenerate the answer").click()
    chat.wait_for_answer("cheaper")
    chat.wait_until_idle()
    versions = chat.log.get_by_role("group", name="Versions of this message")
    expect(versions).to_be_visible()
    tour.add(chat.page, "versions", "An answer that was written anew: the arrows lead back to the first one.")
    chat.page.emulate_media(color_scheme="light")


def test_an_approval(chat: ChatPage, open_tab: OpenTab, model: Model, tour: Tour) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="order_status", args={"order_number": 1001})]),
        Turn(calls=[Call(name="refund_order", args={"order_number": 1001})]),
        Turn(text=["The refund is on its way."]),
    )
    chat.send("Refund order 1001")
    expect(approval(chat)).to_be_visible()
    expect(chat.page.get_by_role("heading", level=1)).to_have_text("Refund order 1001")
    expect(chat.chats.first).to_contain_text("Needs you")
    tour.add(chat.page, "approval", "A tool that asks first: what it will do, in words.")
    chat.page.context.add_cookies([{"name": "django_language", "value": "ar", "url": chat.base_url}])
    chat.page.reload()
    expect(chat.page.locator("html")).to_have_attribute("dir", "rtl")
    expect(chat.status).to_have_attribute("data-state", "connected")
    tour.add(
        chat.page,
        "arabic",
        "The same in Arabic. There are also German and Spanish, and a saved theme.",
        PHONE,
    )
    chat.page.context.clear_cookies(name="django_language")
    chat.reload()
    approval(chat).get_by_role("button", name="Approve").click()
    chat.wait_for_answer("on its way")
    chat.wait_until_idle()
    expect(chat.page.locator("#activity .count")).to_be_hidden()
    tour.add(chat.page, "approved", "Approved: who allowed it, and when.", PHONE)
    staff = open_tab(STAFF).page
    staff.goto(f"{chat.base_url}/admin/sessions_app/session/{chat.session_id}/change/")
    tour.add(staff, "admin", "The same chat in the admin: every event, and what it changed.")


def test_a_file(chat: ChatPage, model: Model, tour: Tour) -> None:
    model.play(Turn(text=["Thanks. The lamp is the dearest."]))
    prices = "name,price,in stock\nlamp,49,yes\nchair,35,yes\ntable,48,no\n"
    chat.attach({"name": "prices.csv", "mimeType": "text/csv", "buffer": prices.encode()})
    chat.send("Which of these is the dearest?")
    chat.wait_for_answer("dearest")
    chat.wait_until_idle()
    chat.page.set_viewport_size({"width": BESIDE[0], "height": BESIDE[1]})
    chat.files.filter(has_text="prices.csv").click()
    pane = chat.page.get_by_role("dialog", name="prices.csv", exact=True)
    expect(pane.get_by_role("columnheader").first).to_be_visible()
    tour.add(
        chat.page, "pane", "A file beside the chat: as a table, or its source, with its versions.", BESIDE
    )
    tour.add(chat.page, "pane-phone", "The same on a phone, dark.", PHONE, dark=True)
    pane.press("Escape")
    chat.page.emulate_media(color_scheme="light")
    chat.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def test_the_activity(chat: ChatPage, model: Model, tour: Tour) -> None:
    report = Call(name="write_report", args={"topic": "sales", "group_by": "region", "precise": True})
    model.play(rules={r'"status": "': Turn(text=["It asks you first."]), "report": Turn(calls=[report])})
    chat.send("A precise report on sales")
    chat.wait_for_answer("It asks you first.")
    chat.page.get_by_role("button", name="Activity").press("Enter")
    panel = chat.page.get_by_role("dialog", name="Activity")
    expect(panel.get_by_role("button", name="Approve").first).to_be_visible()
    tour.add(chat.page, "activity", "Activity: what waits in all chats, answered on the spot.")
    chat.page.keyboard.press("Escape")
    chat.job("Write report").get_by_role("button", name="Cancel").click()
    chat.wait_until_idle()


def test_the_settings(chat: ChatPage, tour: Tour) -> None:
    chat.page.goto(f"{chat.base_url}/settings/")
    expect(chat.page.get_by_role("heading", level=1)).to_be_visible()
    tour.add(chat.page, "settings", "Settings: display, instructions, what agents know, and the data.")
    chat.page.goto(chat.base_url)
    expect(chat.page.get_by_role("heading", level=1)).to_be_visible()
    tour.add(chat.page, "home", "The first page: agents with examples, and the latest chats.", PHONE)
    chat.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def test_a_job(chat: ChatPage, model: Model, tour: Tour) -> None:
    play_report(model, "sales", then=Turn(text=["The report is ready."]))
    chat.send("Write a report on sales")
    wait_for_progress(chat.page, 5)
    expect(chat.job("Write report")).to_have_attribute("data-status", "running")
    tour.add(chat.page, "job", "A job runs in a worker. Its result comes back into the chat by itself.")


def test_a_workflow(chat: ChatPage, model: Model, tour: Tour) -> None:
    model.play(Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "returns"})]))
    chat.send("Return order 20990")
    expect(chat.log.get_by_role("button", name="Yes")).to_be_visible()
    expect(chat.log.get_by_role("region", name="Steps of Returns")).to_contain_text("Ask: Waiting for you")
    tour.add(chat.page, "workflow", "A workflow: its steps, and the question that it asks.")


def test_a_shared_chat(chat: ChatPage, open_tab: OpenTab, model: Model, tour: Tour) -> None:
    model.play(
        Turn(calls=[Call(name="transfer_to_agent", args={"agent_name": "orders"})]),
        Turn(calls=[Call(name="write_invoice", args={"order_number": 1001})]),
        Turn(text=["Here is the invoice."]),
    )
    title = "The invoice of order 1001"
    chat.send(title)
    chat.wait_for_answer("Here is the invoice.")
    chat.wait_until_idle()
    chat.choose(title, "Share")
    chat.page.get_by_role("button", name="Create link").click()
    address = chat.page.get_by_label("Link").input_value()
    reader = open_tab(STAFF).page
    reader.set_viewport_size({"width": BESIDE[0], "height": BESIDE[1]})
    reader.goto(address)
    reader.get_by_role("link", name="invoice-1001.csv").click()
    expect(reader.get_by_role("dialog").get_by_role("table")).to_be_visible()
    tour.add(reader, "shared", "A shared chat, as another person reads it, with a file of it.", BESIDE)


def test_trouble(chat: ChatPage, model: Model, tour: Tour) -> None:
    model.play(Turn(block_reason="SAFETY"), Turn(text=["Better."]))
    chat.send("Something odd")
    expect(chat.retry_button).to_be_visible()
    tour.add(chat.page, "trouble", "A failed answer keeps the message, says why, and can be tried again.")


def test_the_list(chat: ChatPage, tour: Tour) -> None:
    chat.page.keyboard.press("Control+k")
    palette = chat.page.get_by_role("dialog")
    palette.get_by_role("combobox").fill("order")
    expect(palette.get_by_role("option").first).to_be_visible()
    tour.add(chat.page, "palette", "Ctrl+K finds chats, agents and actions.", dark=True)


def test_the_sign_in(browser: Browser, site: Stack, tour: Tour) -> None:
    page = browser.new_page()
    page.goto(site.base_url)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    tour.add(page, "sign-in", f"The sign-in page; `make run` prints the password of `{PERSON}`.", PHONE)
    page.close()
