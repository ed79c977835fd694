"""Contract: staff can audit all sessions, nobody else can, and no user can open another user's session."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Request, expect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.browser.accessibility import serious_problems_in_both_schemes
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_jobs import REPORT_SECONDS, play_report
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def audit_url(chat: ChatPage) -> str:
    return f"{chat.base_url}/admin/sessions_app/session/{chat.session_id}/change/"


def cells(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def test_staff_see_the_events_in_order_with_their_state_changes(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(
        Turn(calls=[Call(name="remember_name", args={"name": "Grace"})]),
        Turn(text=["Hello Grace."]),
        Turn(calls=[Call(name="remember_name", args={"name": "Hopper"})]),
        Turn(text=["Hello Hopper."]),
    )
    chat.send("I am Grace")
    chat.wait_for_answer("Hello Grace.")
    chat.wait_until_idle()
    chat.send("No, Hopper")
    chat.wait_for_answer("Hello Hopper.")
    chat.wait_until_idle()

    audit = open_tab(STAFF).page
    audit.goto(f"{chat.base_url}/admin/sessions_app/session/")
    audit.get_by_role("link", name="I am Grace").first.click()
    expect(audit).to_have_url(re.compile(chat.session_id))
    events = audit.locator(".audit-event")
    expect(events).to_have_count(8)
    assert cells(audit, ".audit-entry > summary .audit-seq") == ["2\u20133", "6\u20137"]
    for number in range(2):
        audit.locator(".audit-entry > summary").nth(number).click()
    assert cells(audit, ".audit-event .audit-seq") == [str(number) for number in range(1, 9)]
    assert cells(audit, ".audit-event .audit-author") == ["user", "help_desk", "help_desk", "help_desk"] * 2
    expect(events.nth(0)).to_contain_text("I am Grace")

    row = events.nth(6).locator(".audit-diff tbody tr")
    expect(row).to_have_count(1)
    expect(row.locator("th")).to_have_text("user:name")
    expect(row.locator("td")).to_have_text(["user", '"Grace"', '"Hopper"'])
    expect(audit.get_by_role("region", name="Invocations").locator("tbody tr")).to_have_count(2)
    expect(audit.locator(".audit [data-status=completed]").first).to_be_visible()


def test_24_staff_follow_a_session_and_pause(chat: ChatPage, open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two."]), Turn(text=["Three."]))
    chat.send("First")
    chat.wait_for_answer("One.")
    chat.wait_until_idle()
    audit = open_tab(STAFF).page
    audit.goto(audit_url(chat))
    expect(audit.locator("#integrity .audit-good")).to_be_visible()
    follow = audit.get_by_role("button", name="Follow new events")
    expect(follow).to_have_attribute("aria-pressed", "false")
    follow.click()
    columns = audit.locator(".audit-minimap-room")
    expect(columns).to_have_count(2)
    # What is pressed while news come is pressed all the same.
    audit.locator("#event-1 > summary").hover()
    audit.mouse.down()
    with audit.expect_response(re.compile("page=last")) as news:
        chat.send("Second")
    news.value.finished()
    audit.evaluate("new Promise((done) => setTimeout(done))")  # The page has read the response.
    audit.mouse.up()
    chat.wait_for_answer("Two.")
    events = audit.locator(".audit-event")
    expect(events).to_have_count(4)
    expect(columns).to_have_count(4)
    expect(audit.locator("#event-1")).to_have_attribute("open", "")
    expect(audit.locator("[data-followed]")).to_contain_text("New events")

    follow.click()
    chat.send("Third")
    chat.wait_for_answer("Three.")
    chat.wait_until_idle()
    expect(events).to_have_count(4)
    audit.keyboard.press("ArrowLeft")
    expect(audit).to_have_url(re.compile(r"at=4#state"))


REFUSED = "Not followed any more: you have signed out, or may not see this any more."


def follow(tab: ChatPage, url: str, name: str) -> Locator:
    """Open a page whose clock the test sets, and follow it. Return the button."""
    tab.page.clock.install()
    tab.page.goto(url)
    button = tab.page.get_by_role("button", name=name)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    return button


def requests_after_refusal(tab: ChatPage, button: Locator) -> list[Request]:
    """Wait until the page says why it is not followed any more. Return what it asks for in the next minutes."""
    expect(tab.page.locator("[data-followed]")).to_have_text(REFUSED)
    expect(button).to_have_attribute("aria-pressed", "false")
    asked: list[Request] = []
    tab.page.on("request", lambda request: asked.append(request))
    for _ in range(10):
        tab.page.clock.fast_forward(20_000)
    return asked


def test_pages_that_staff_follow_ask_no_more_after_the_sign_out(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    model.play(Turn(text=["One."]))
    chat.send("First")
    chat.wait_for_answer("One.")
    chat.wait_until_idle()
    session, jobs = open_tab(STAFF), open_tab(STAFF)
    follow_session = follow(session, audit_url(chat), "Follow new events")
    follow_jobs = follow(jobs, f"{chat.base_url}/admin/sessions_app/tooljob/", "Follow changes")
    session.page.context.clear_cookies()
    assert requests_after_refusal(session, follow_session) == []
    assert requests_after_refusal(jobs, follow_jobs) == []


def test_a_page_that_staff_follow_asks_no_more_without_the_right(chat: ChatPage, open_tab: OpenTab) -> None:
    jobs = open_tab(STAFF)
    button = follow(jobs, f"{chat.base_url}/admin/sessions_app/tooljob/", "Follow changes")
    jobs.page.route("**/tooljob/", lambda route: route.fulfill(status=403))
    assert requests_after_refusal(jobs, button) == []
    assert [error for error in jobs.errors if "403" not in error] == []
    jobs.errors.clear()


def test_lists_of_sessions_and_what_they_have_do_not_scroll_sideways_on_a_laptop_with_the_sidebar_open(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play_report(model, "returns", then=Turn(text=["Counted."]))
    chat.send(f"A report on returns, {'the very longest of all titles ' * 4}")
    expect(chat.answers.last).to_have_text("Counted.", timeout=REPORT_SECONDS * 1000)
    chat.wait_until_idle()
    audit = open_tab(STAFF).page
    for name in ("session", "invocation", "tooljob", "event", "artifact"):
        audit.goto(f"{chat.base_url}/admin/sessions_app/{name}/")
        expect(audit.locator("#nav-sidebar")).to_be_in_viewport()
        expect(audit.locator("#result_list tbody tr").first).to_be_visible()
        for width, is_wide in ((1280, False), (390, True)):
            audit.set_viewport_size({"width": width, "height": 900})
            assert (audit.evaluate(HIDDEN_WIDTH) > 0) is is_wide, (name, width)
            first = audit.locator("#result_list tbody tr > :first-child").first
            assert first.evaluate("(cell) => cell.clientWidth") > 40, (name, width)
        audit.set_viewport_size({"width": 1280, "height": 900})


def test_long_words_make_no_page_of_the_admin_wider_than_a_phone(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    word = "word" * 50
    choice = Call(name="get_user_choice", args={"options": [word]})
    model.play(Turn(calls=[choice, Call(name="pay", args={"amount": 5, word: word})]))
    chat.open_new_chat("questions")
    chat.send(word)
    expect(chat.log.locator(".question")).to_have_count(2)
    value = chat.log.locator(".question dd").filter(has_text=word)
    assert value.evaluate("(value) => value.clientWidth > value.parentElement.clientWidth / 2")
    admin = open_tab(STAFF).page
    admin.set_viewport_size({"width": 360, "height": 740})
    admin.goto(chat.address("/admin/sessions_app/answerrequest/"))
    links = admin.locator(f"#result_list tr:has(a[href*='{chat.session_id}']) a")
    pages = {link.get_attribute("href") or "" for link in links.all()}
    assert len(pages) == 3
    for page in pages:
        admin.goto(chat.address(page))
        assert admin.evaluate("document.documentElement.scrollWidth") <= 360, page


def test_marks_on_a_letter_make_no_page_wider_than_a_phone(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    # No browser wraps a letter with its marks, and one without a font for them draws a box for each.
    letter = "Z" + "\u0351\u0489" * 300
    model.play(Turn(calls=[Call(name="remember_name", args={"name": letter})]), Turn(text=[letter]))
    chat.page.set_viewport_size({"width": 360, "height": 740})
    chat.send(letter)
    chat.wait_for_answer(letter)
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= 360
    admin = open_tab(STAFF).page
    admin.set_viewport_size({"width": 360, "height": 740})
    session = chat.address(f"/admin/sessions_app/session/{chat.session_id}/")
    for page in ("change/?view=person", "change/?event=2", "state/"):
        admin.goto(session + page)
        expect(admin.get_by_text(letter[:50]).first).to_be_attached()
        assert admin.evaluate("document.documentElement.scrollWidth") <= 360, page


def call_missing_tool(chat: ChatPage, model: Model, tool: str) -> None:
    """Let the model call a tool that the agent does not have."""
    model.play(Turn(calls=[Call(name=tool)]), Turn(text=["Sorry."]))
    chat.send("Where is my lamp?")
    chat.wait_until_idle()


def open_figures_on_a_phone(admin: Page, address: str, tool: str) -> None:
    """Open a page of figures on a phone, when the sweep has counted a call of the tool."""
    admin.set_viewport_size({"width": 360, "height": 740})
    admin.goto(address)
    admin.evaluate(UNTIL_SHOWN, tool)
    admin.reload()


def test_a_phone_shows_the_numbers_of_failures_beside_the_tool_and_the_cause(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    tool = "look_up_the_order_of_a_lamp"
    call_missing_tool(chat, model, tool)
    admin = open_tab(STAFF).page
    open_figures_on_a_phone(admin, chat.address("/admin/sessions_app/failure/"), tool)
    row = admin.locator("section[aria-labelledby=groups] tbody tr", has_text=tool)
    expect(row.locator("td").last).to_be_in_viewport(ratio=1)
    assert row.locator("th").evaluate("(cell) => cell.clientWidth") > 60


def test_a_phone_shows_the_tables_of_the_overview_whole_with_a_heading_before_each_value(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    tool = "look_up_the_order_of_a_very_old_lamp"
    call_missing_tool(chat, model, tool)
    admin = open_tab(STAFF).page
    open_figures_on_a_phone(admin, chat.address("/admin/sessions_app/dayfigure/"), tool)
    tables = admin.locator(".audit-scroll")
    assert tables.evaluate_all("all => all.filter((one) => one.scrollWidth > one.clientWidth).length") == 0
    calls = admin.locator("section[aria-labelledby=tools] tbody tr", has_text=tool).locator("td").last
    assert calls.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"Calls in 30 days "'
    assert serious_problems_in_both_schemes(admin) == []
    admin.goto(chat.address("/admin/sessions_app/staffact/all/?kind=agent"))
    expect(admin.locator(".audit-stack tbody tr", has_text=tool).first).to_contain_text("Call")
    assert admin.evaluate("document.documentElement.scrollWidth") <= 360
    assert serious_problems_in_both_schemes(admin) == []


LIST_LINKS = "all => [...new Set(all.map((link) => link.pathname))]"


def test_axe_finds_no_serious_violation_on_any_list_or_form_of_the_admin(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play_report(model, "returns", then=Turn(text=["Counted."]))
    chat.send("A report on returns")
    expect(chat.answers.last).to_have_text("Counted.", timeout=REPORT_SECONDS * 1000)
    chat.wait_until_idle()
    tab = open_tab(STAFF)
    admin = tab.page
    admin.set_viewport_size({"width": 390, "height": 844})
    admin.goto(f"{chat.base_url}/admin/")
    lists = admin.locator("#content-main tbody th a").evaluate_all(LIST_LINKS)
    assert len(lists) >= 35, lists
    problems: dict[str, list[str]] = {}

    def check(path: str) -> None:
        page = admin.goto(chat.address(path))
        policy = page.headers["content-security-policy"] if page else ""
        assert "script-src 'self'" in policy and "unsafe-inline" not in policy, path
        assert tab.errors == [], path
        problems[path] = serious_problems_in_both_schemes(admin)
        tab.errors.clear()  # axe itself sets inline styles, which the content security policy refuses

    for path in lists:
        check(path)
        forms = admin.locator(".object-tools .addlink, #result_list tbody tr:first-child th a").evaluate_all(
            LIST_LINKS
        )
        for form in forms:
            check(form)
    assert problems.keys() > {"/admin/auth/user/add/", "/admin/sessions_app/remit/add/", *lists}
    assert {path: found for path, found in problems.items() if found} == {}


UNTIL_SHOWN = """async (word) => {
  while (!(await (await fetch(location.href)).text()).includes(word)) {
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}"""
"""Waits for a word on the page: the sweep counts failures some seconds after the events."""
HIDDEN_WIDTH = """() => {
  const list = document.querySelector("#result_list").closest(".results");
  return list.scrollWidth - list.clientWidth;
}"""


def test_09_staff_follow_a_job_in_the_list_and_on_its_page_and_can_change_nothing(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    play_report(model, "returns", then=Turn(text=["Done."]), precise=True)
    audit = open_tab(STAFF).page
    audit.goto(f"{chat.base_url}/admin/sessions_app/tooljob/")
    audit.get_by_role("button", name="Follow changes").click()
    audit.evaluate("window.isSameLoad = true")
    chat.send("A precise report on returns")
    row = audit.locator("#result_list tbody tr", has_text="A precise report on returns")
    expect(row.locator(".field-badge")).to_have_text("waiting")
    assert audit.evaluate("window.isSameLoad")

    row.locator("th a").click()
    follow = audit.get_by_role("button", name="Follow changes")
    expect(follow).to_have_attribute("aria-pressed", "true")
    audit.evaluate("window.isSameLoad = true")
    audit.get_by_role("link", name="Stop…").focus()
    age = audit.locator(".field-heartbeat .readonly")
    expect(age).not_to_have_text(age.inner_text())
    expect(audit.get_by_role("link", name="Stop…")).to_be_focused()
    status = audit.locator(".field-badge .readonly").first
    status.select_text()
    chat.job("Write report").get_by_role("button", name="Approve").click()
    expect(chat.answers.last).to_have_text("Done.", timeout=REPORT_SECONDS * 1000)
    chat.wait_until_idle()
    with audit.expect_response(audit.url) as page:
        pass
    page.value.finished()
    expect(status).to_have_text("waiting")
    audit.evaluate("getSelection().empty()")
    expect(status).to_have_text("succeeded")
    expect(audit.locator(".field-files")).to_contain_text("returns-by-region.png")
    expect(audit.locator(".field-answered_questions")).to_contain_text("Go ahead?")
    expect(audit.locator("[data-followed]")).to_contain_text("succeeded")
    expect(audit.locator("#content > h2")).to_have_text("write_report succeeded")
    expect(follow).to_be_hidden()
    expect(audit.get_by_role("link", name="Stop…")).to_have_count(0)
    assert audit.evaluate("window.isSameLoad")
    check_the_job_is_seen_and_nothing_can_be_changed(chat, open_tab(STAFF).page)


def check_the_job_is_seen_and_nothing_can_be_changed(chat: ChatPage, audit: Page) -> None:
    """Check the page of the session with its job, and one page of each list."""
    audit.goto(audit_url(chat))
    job = audit.get_by_role("region", name="Jobs").locator("tbody tr")
    expect(job).to_contain_text("succeeded")
    expect(job).to_contain_text("returns-by-region.png")
    job.get_by_role("link", name="write_report").click()
    expect(audit.get_by_text("returns-by-region.png").first).to_be_visible()
    for path in ("session", "event", "invocation", "tooljob", "artifact"):
        audit.goto(f"{chat.base_url}/admin/sessions_app/{path}/")
        expect(audit.get_by_role("link", name=re.compile("^Add "))).to_have_count(0)
        audit.locator("#result_list tbody th a, #result_list tbody td a").first.click()
        expect(audit.locator("#content")).to_be_visible()
        expect(audit.locator("input[name=_save], .deletelink")).to_have_count(0)
    assert audit.request.get(f"{audit_url(chat)}../delete/").status == 403


def test_the_admin_refuses_users_that_are_not_staff(chat: ChatPage) -> None:
    page = chat.page
    page.goto(audit_url(chat))
    expect(page.locator(".audit-event")).to_have_count(0)
    expect(page).to_have_url(re.compile("/admin/login/"))
    expect(page.get_by_text("not authorized")).to_be_visible()


def test_the_chat_of_another_user_is_not_found(chat: ChatPage, open_tab: OpenTab, model: Model) -> None:
    model.play(Turn(calls=[Call(name="open_ticket", args={"problem": "A lamp"})]), Turn(text=["It is open."]))
    chat.send("My lamp is broken")
    chat.wait_for_answer("It is open.")
    file = chat.files.get_attribute("href")

    stranger = open_tab(STAFF)
    for path in (chat.page.url, f"{chat.page.url}events/?before=9", f"{chat.base_url}{file}"):
        assert stranger.page.request.get(path).status == 404
    stranger.page.goto(chat.base_url)
    assert stranger.page.evaluate(CLOSE_CODE, f"/ws/chat/{chat.session_id}/") == 4404
    assert stranger.page.evaluate(CLOSE_CODE, "/ws/chat/00000000-0000-4000-8000-000000000000/") == 4404


CLOSE_CODE = """(path) => new Promise((resolve) => {
  new WebSocket(path.replace(/^/, location.origin.replace("http", "ws"))).onclose = (close) => resolve(close.code);
})"""


def test_a_websocket_opens_only_for_signed_in_users_on_pages_of_this_site(chat: ChatPage) -> None:
    address = f"ws://{urlsplit(chat.base_url).netloc}/ws/chat/{chat.session_id}/?new=help_desk"
    own = Origin(chat.base_url)
    cookies = "; ".join(
        f"{cookie.get('name')}={cookie.get('value')}" for cookie in chat.page.context.cookies()
    )
    headers = {"Cookie": cookies}
    with pytest.raises(InvalidStatus, match="403"):
        connect(address, origin=Origin("https://elsewhere.example"), additional_headers=headers)
    with connect(address, origin=own) as anonymous, pytest.raises(ConnectionClosed) as closed:
        anonymous.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401
    with connect(address, origin=own, additional_headers=headers) as signed_in:
        signed_in.send('{"v": 1, "type": "hello", "after": 0}')
        assert '"ready"' in str(signed_in.recv())
