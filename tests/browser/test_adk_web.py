"""Contract: adk-web works unchanged: conversation, streaming, state, files, sessions, spans, answers, eval sets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, StorageState, expect

from adk_site.embedded.paths import CHECKOUT
from tests.browser.conftest import STAFF
from tests.browser.model import Model
from tests.model_server import Call, Turn
from tests.stack.outages import Web
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

FONTS = "https://fonts.gstatic.com/"
"""What adk-web asks for and works without."""
MISSING = "adk-web was not found: CONTRIBUTING.md says how to get it"


class AdkWeb:
    """adk-web in a tab of a member of staff. Its fonts, the only thing from elsewhere, do not load."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page, self.base_url = page, base_url
        self.failures: list[str] = []
        page.on("pageerror", lambda error: self.failures.append(str(error)))
        page.on("console", lambda message: self.failures.extend(_violation(message.text)))
        self.box = page.get_by_placeholder("Type a message")
        self.conversation = page.locator("app-chat-panel")

    def open(self, app: str, query: str = "") -> None:
        """Open the page with an app."""
        self.page.goto(f"{self.base_url}/dev-ui/?app={app}{query}")
        expect(self.box).to_be_visible()

    def send(self, text: str) -> None:
        """Send a message."""
        self.box.fill(text)
        self.box.press("Enter")

    def ask(self, text: str) -> None:
        """Send a message and wait until adk-web reads the spans: the run has ended, and answers are taken."""
        with self.page.expect_event("requestfinished", lambda request: "/debug/trace/" in request.url):
            self.send(text)

    def edit_state(self, state: dict[str, Any]) -> None:
        """Save another state in the dialog; it goes with the next message.

        The editor reports its text 300 ms after a change, or when it loses the focus; until then Save takes the text
        from before. It marks itself as without focus right after it has reported.
        """
        self.page.locator(".input-prefix-menu-btn").click()
        self.page.get_by_role("menuitem", name="Update state").click()
        dialog = self.page.get_by_role("dialog")
        editor, save = dialog.locator(".jse-main"), dialog.get_by_role("button", name="Save")
        expect(save).to_be_focused()  # by the dialog, which would otherwise take the focus from the editor
        editor.locator(".cm-content").click()
        expect(editor).to_contain_class("jse-focus")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(json.dumps(state))
        save.focus()
        expect(editor).not_to_contain_class("jse-focus")
        save.click()
        expect(self.conversation.get_by_text("Updated session state")).to_be_visible()

    def fill_dialog(self, name: str) -> None:
        """Give the name for which a dialog asks, and create what it is about."""
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("textbox").fill(name)
        dialog.get_by_role("button", name="Create").click()
        expect(dialog).to_have_count(0)

    def all_eval_sets(self) -> Locator:
        """The list of eval sets, opened."""
        panel = self.panel("Evals")
        panel.locator("button[mattooltip='All Eval Sets']").click()
        return panel.locator(".eval-set-row")

    def open_eval_set(self, name: str) -> None:
        """Open the cases of an eval set."""
        self.all_eval_sets().filter(has_text=name).click()
        self.page.locator("button[mattooltip='Eval Cases']").click()

    def confirm_deletion(self, address: str) -> None:
        """Confirm the deletion of what has the address; return when it is done."""
        with self.page.expect_response(address) as deletion:
            self.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        assert (deletion.value.request.method, deletion.value.status) == ("DELETE", 200)

    def says(self, text: str) -> Locator:
        """A text of the conversation."""
        return self.conversation.get_by_text(text).first

    def panel(self, name: str) -> Locator:
        """A panel beside the conversation, opened."""
        self.page.get_by_role("tab", name=name).click()
        return self.page.locator("app-side-panel")


def _violation(text: str) -> list[str]:
    return [text] if "Content Security Policy" in text else []


@pytest.fixture(scope="module")
def staff(browser: Browser, signed_in: Callable[[str], StorageState]) -> Iterator[BrowserContext]:
    """A browser of a member of staff, which keeps the big scripts of adk-web for the next test."""
    context = browser.new_context(storage_state=signed_in(STAFF), viewport={"width": 1400, "height": 900})
    context.route(f"{FONTS}**", lambda route: route.abort())
    yield context
    context.close()


@pytest.fixture
def open_adk_web(
    staff: BrowserContext, adk_web: Path | None, foreign_requests: list[str]
) -> Iterator[Callable[[str], AdkWeb]]:
    """Function that opens adk-web of a web process; fails the test if the page reports an error."""
    if adk_web is None:
        pytest.skip(MISSING)
    pages: list[AdkWeb] = []

    def open_one(base_url: str) -> AdkWeb:
        pages.append(AdkWeb(staff.new_page(), base_url))
        return pages[-1]

    yield open_one
    for opened in pages:
        opened.page.evaluate("localStorage.clear()")
        opened.page.close()
        assert opened.failures == []
    foreign_requests[:] = [url for url in foreign_requests if not url.startswith(FONTS)]


@pytest.fixture
def adk(open_adk_web: Callable[[str], AdkWeb], site: Stack) -> AdkWeb:
    return open_adk_web(site.base_url)


@pytest.fixture
def written() -> Iterator[Path]:
    """The file of the eval set that the test writes beside the agent `questions`."""
    path = CHECKOUT / "tests/browser/questions/written.evalset.json"
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def development(open_adk_web: Callable[[str], AdkWeb], site: Stack, written: Path) -> Iterator[AdkWeb]:
    """adk-web of a web process in development."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.browser.development"}
    with Web(site, {**site.environment, **settings}) as web:
        yield open_adk_web(web.base_url)


def test_a_conversation_has_its_events_state_files_and_spans(adk: AdkWeb, model: Model) -> None:
    model.play(
        Turn(calls=[Call(name="open_ticket", args={"problem": "No heat"})]),
        Turn(text=["It is ", "**open**."]),
    )
    adk.open("help_desk")
    expect(adk.page).to_have_url(re.compile("userId=admin"))
    adk.send("Open a ticket")
    expect(adk.says("It is open.")).to_be_visible()
    expect(adk.says("Dear customer,")).to_be_visible()  # the file
    expect(adk.panel("State")).to_contain_text(re.compile(r"ticket.*T-\w+: No heat"))
    expect(adk.panel("Artifacts")).to_contain_text("we look into this for you")
    adk.page.get_by_text("Traces", exact=True).first.click()
    for name in ("help_desk", "generate_content", "open_ticket"):
        expect(adk.page.locator("app-trace-tree")).to_contain_text(name)
    adk.page.get_by_role("button").filter(has_text="account_tree").first.click()
    expect(adk.page.locator("g.node", has_text="pay_back")).to_be_visible()


def test_an_answer_grows_as_it_is_streamed(adk: AdkWeb, model: Model) -> None:
    model.play(Turn(text=["One ", "two ", "three."], hold_before=[2]))
    adk.page.add_init_script("localStorage.setItem('adk-use-sse', 'true')")
    adk.open("help_desk")
    adk.send("Count")
    expect(adk.says("One two")).to_be_visible()
    expect(adk.conversation).not_to_contain_text("three")
    model.release()
    expect(adk.says("One two three.")).to_be_visible()
    expect(adk.conversation.get_by_text("One two")).to_have_count(1)


def test_a_session_is_found_again_and_deleted(adk: AdkWeb, model: Model) -> None:
    model.play(Turn(text=["The first answer."]), Turn(text=["The second answer."]))
    for number in ("first", "second"):
        adk.open("help_desk")
        adk.send(f"My {number} question")
        expect(adk.says(f"The {number} answer.")).to_be_visible()
    adk.page.get_by_text("My second question").first.click()
    adk.page.get_by_text("My first question").first.click()
    expect(adk.says("The first answer.")).to_be_visible()
    adk.page.get_by_text("My first question").first.click()
    adk.page.get_by_role("button", name="Delete").first.click()
    with adk.page.expect_response(lambda response: response.request.method == "DELETE") as deletion:
        adk.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    assert deletion.value.status == 200
    expect(adk.conversation).not_to_contain_text("The first answer.")


def test_a_session_is_renamed_and_what_is_exported_can_be_imported(
    adk: AdkWeb, model: Model, tmp_path: Path
) -> None:
    model.play(
        Turn(calls=[Call(name="open_ticket", args={"problem": "No heat"})]),
        Turn(text=["It is open."]),
        Turn(text=["Imported."]),
    )
    page = adk.page
    adk.open("help_desk")
    adk.ask("Open a ticket")
    page.get_by_role("button", name="Open a ticket").first.click()
    page.get_by_role("button", name="Edit").click()
    name = page.locator("app-inline-edit input")
    name.fill("Cold room")
    # The page shows the new name before it has sent it.
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        name.press("Enter")
    expect(page.get_by_role("button", name="Cold room").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    exported = tmp_path / "session.json"
    download.value.save_as(exported)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import").click()
    chooser.value.set_files(exported)
    expect(page.get_by_text("Session imported successfully")).to_be_visible()
    expect(adk.says("It is open.")).to_be_visible()
    state = adk.panel("State")
    for value in ("No heat", 'displayName: "Cold room"'):
        expect(state).to_contain_text(value)
    adk.ask("Go on")
    expect(adk.says("Imported.")).to_be_visible()


def test_an_eval_set_is_shown_with_its_cases_and_results(adk: AdkWeb, model: Model, site: Stack) -> None:
    model.play(Turn(text=["Bern."]))
    command = [sys.executable, "manage.py", "adk_eval", "questions", "capitals"]
    evaluated = subprocess.run(command, cwd=CHECKOUT, env=site.environment, capture_output=True, text=True)
    assert "1 case: 1 passed." in evaluated.stdout, evaluated.stderr
    adk.open("questions")
    adk.panel("Evals").get_by_text("capitals").click()
    with adk.page.expect_response("**/eval_sets/capitals/evals/swiss") as case:
        adk.panel("Evals").get_by_text("swiss").click()
    assert case.value.status == 200
    expect(adk.says("Which is the capital?")).to_be_visible()
    expect(adk.page.locator("app-side-panel")).to_contain_text(re.compile(r"Past Runs.*2/2"))
    adk.page.locator("app-side-panel").get_by_text("History").first.click()
    expect(adk.page.locator("app-side-panel")).to_contain_text(re.compile(r"1 PASS ?\| ?0 FAIL"))


def test_an_eval_set_is_written_edited_run_and_deleted(
    development: AdkWeb, model: Model, site: Stack, written: Path
) -> None:
    adk, page = development, development.page
    model.play(*[Turn(text=["Basel."]) for _ in range(3)])  # the conversation, and two runs
    adk.open("questions")
    adk.ask("Which is the capital?")
    panel = adk.panel("Evals")
    panel.get_by_role("button", name="New").click()
    adk.fill_dialog("written")
    panel.get_by_text("written").click()
    panel.get_by_text("From Current Session").click()
    adk.fill_dialog("capital")
    case = panel.locator(".eval-case-row", has_text="capital")
    expect(case).to_be_visible()
    assert "Basel." in written.read_text()
    case.locator("button", has_text="edit").click()
    adk.conversation.get_by_text("edit", exact=True).last.click()
    box = adk.conversation.locator("textarea").first
    box.fill("Bern.")
    box.press("Enter")
    with page.expect_response(lambda response: response.request.method == "PUT") as saved:
        page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Eval case updated")).to_be_visible()
    # adk-web 2.13 sends the text from before the edit.
    assert saved.value.status == 200 and "Basel." in (saved.value.request.post_data or "")
    adk.open_eval_set("written")
    panel.get_by_role("button", name="Run All").click()
    with page.expect_response("**/eval-sets/written/run", timeout=60_000) as run:
        page.get_by_role("dialog").get_by_role("button", name="Run").click()
    assert run.value.json()["runEvalResults"][0]["finalEvalStatus"] == 1
    command = [sys.executable, "manage.py", "adk_eval", "questions", "written"]
    evaluated = subprocess.run(command, cwd=CHECKOUT, env=site.environment, capture_output=True, text=True)
    assert "1 case: 1 passed." in evaluated.stdout, evaluated.stderr
    adk.open_eval_set("written")
    case.locator("button", has_text="delete").click()
    adk.confirm_deletion("**/evals/capital")
    adk.all_eval_sets().filter(has_text="written").locator("button").click()
    adk.confirm_deletion("**/eval-sets/written")
    assert not written.exists()


def test_a_confirmation_lets_the_call_run(adk: AdkWeb, model: Model) -> None:
    model.play(Turn(calls=[Call(name="pay", args={"amount": 5})]), Turn(text=["It is paid."]))
    adk.open("questions")
    adk.ask("Pay 5")
    adk.page.get_by_label("Confirmed").check()
    adk.page.get_by_role("button", name="Submit").click()
    expect(adk.says("It is paid.")).to_be_visible()
    assert "paid 5" in str(model.requests()[-1]["body"])


def test_a_long_running_call_gets_its_answer(adk: AdkWeb, model: Model) -> None:
    options = {"options": ["Bern", "Basel"]}
    model.play(Turn(calls=[Call(name="get_user_choice", args=options)]), Turn(text=["Then Bern."]))
    adk.open("questions")
    adk.ask("Where to?")
    answer = adk.page.get_by_placeholder("Enter your response")
    answer.fill("Bern")
    answer.press("Enter")
    expect(adk.says("Then Bern.")).to_be_visible()
    assert "Bern" in str(model.requests()[-1]["body"]["contents"][-1])


def test_an_edit_of_the_state_goes_with_the_next_message(adk: AdkWeb, model: Model) -> None:
    model.play(Turn(text=["Hello."]), Turn(text=["Noted."]))
    adk.open("help_desk")
    adk.ask("Hi")
    adk.edit_state({"colour": "red"})
    with adk.page.expect_request("**/run_sse") as sent:
        adk.ask("Go on")
    assert json.loads(sent.value.post_data or "")["stateDelta"] == {"colour": "red"}
    adk.page.reload()  # so that the state is the server's
    expect(adk.says("Noted.")).to_be_visible()
    expect(adk.panel("State")).to_contain_text('colour: "red"')
