"""Contract: texts of people, models and tools never become markup or scripts."""

import pytest
from playwright.sync_api import expect

from tests.browser.chat_page import ChatPage
from tests.browser.conftest import STAFF, OpenTab
from tests.browser.model import Model
from tests.browser.test_audit import audit_url
from tests.model_server import Call, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

HOSTILE = (
    "<img src=x onerror=pwned()> <script>pwned()</script> <svg onload=pwned()></svg> "
    "[link](javascript:pwned()) ![picture](https://elsewhere.example/x.png) "
    "<iframe srcdoc='<script>parent.pwned()</script>'></iframe> <a href=javascript:pwned()>click</a> "
    "\"'></title></textarea></script><script>pwned()</script>"
)
MARKS_ABOVE, MARKS_BELOW = "\u0300\u0301\u0308", "\u0316\u0323\u0330"
COUNT_CALLS = "window.calls = 0; window.pwned = () => { window.calls += 1; };"
ACTIVE_ELEMENTS = "#log :is(img, script:not([type]), svg:not([aria-hidden]), iframe, [onerror], [onload])"


def test_markup_in_messages_answers_and_arguments_is_shown_as_text(
    chat: ChatPage, open_tab: OpenTab, model: Model
) -> None:
    chat.page.add_init_script(COUNT_CALLS)
    chat.reload()
    model.play(
        Turn(
            thoughts=[HOSTILE],
            text=[HOSTILE, f"\n\n```html\n{HOSTILE}\n```\n"],
            hold_before=[2],
            calls=[Call(name="remember_name", args={"name": HOSTILE})],
        ),
        Turn(calls=[Call(name="open_ticket", args={"problem": HOSTILE, HOSTILE: HOSTILE})]),
        Turn(calls=[Call(name=HOSTILE, args={})]),
        Turn(text=["That was all."]),
    )
    chat.send(HOSTILE)
    expect(chat.growing).to_contain_text("onerror")
    assert chat.page.evaluate("calls") == 0
    model.release()
    chat.wait_for_answer("That was all.")
    chat.wait_until_idle()
    for _ in ("live", "after a reload"):
        expect(chat.log.locator("article").first).to_contain_text("<img src=x onerror=pwned()>")
        expect(chat.page.locator(ACTIVE_ELEMENTS)).to_have_count(0)
        expect(chat.page.locator("a[href^='javascript:' i]")).to_have_count(0)
        for fold in chat.log.locator("summary").all():
            fold.click()
        assert chat.page.evaluate("calls") == 0
        chat.reload()

    audit = open_tab(STAFF)
    audit.page.add_init_script(COUNT_CALLS)
    audit.page.goto(audit_url(chat))
    expect(audit.page.locator(".audit-event").first).to_be_visible()
    audit.page.locator(".audit-event > summary").first.click()
    assert audit.page.evaluate("calls") == 0


def test_every_page_forbids_foreign_scripts_and_files_are_sent_as_attachments(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(calls=[Call(name="open_ticket", args={"problem": "<b>x</b>"})]), Turn(text=["Open."]))
    chat.send("A ticket")
    chat.wait_for_answer("Open.")
    for path in ("/", chat.page.url, "/accounts/login/", "/admin/login/", "/no-such-page"):
        headers = chat.page.request.get(chat.address(path)).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
    file = chat.page.request.get(chat.address(chat.files.get_attribute("href") or ""))
    assert file.headers["x-content-type-options"] == "nosniff"
    assert file.headers["content-disposition"].startswith("attachment")


def suggestions(html: str) -> Turn:
    web = {"title": "A page", "uri": "https://elsewhere.example/"}
    support = {"segment": {"endIndex": 9}, "groundingChunkIndices": [0]}
    metadata = {
        "groundingChunks": [{"web": web}],
        "groundingSupports": [support],
        "searchEntryPoint": {"renderedContent": html},
    }
    return Turn(text=["日本。", " So."], candidate={"groundingMetadata": metadata})


def test_search_suggestions_look_as_delivered_and_nothing_in_them_runs(chat: ChatPage, model: Model) -> None:
    chat.page.add_init_script(COUNT_CALLS)
    chat.reload()
    chip = f"<style>a {{ color: rgb(1, 2, 3) }}</style><a href='{chat.address('/keys/')}'>more</a>"
    hostile = (
        "<meta http-equiv=refresh content='0;url=https://elsewhere.example/'><script>top.pwned()</script>"
        "<form action=https://elsewhere.example/><button onclick=top.pwned()>Send</button></form>"
        f"<a href=/ target=_top>top</a>{HOSTILE}</p><b>the end</b>"
    )
    model.play(suggestions(chip), suggestions(hostile))
    chat.send("Search")
    chat.wait_for_answer("So.")
    chat.wait_until_idle()
    answer = chat.log.locator("article.agent").last
    expect(answer.locator(".prose .citation a")).to_have_attribute("href", "https://elsewhere.example/")
    expect(answer.locator(".prose")).to_have_text("日本。1 So.")
    link = answer.frame_locator(".suggestions").get_by_role("link", name="more")
    expect(link).to_have_css("color", "rgb(1, 2, 3)")
    assert chat.errors == []
    with chat.page.context.expect_page() as opened:
        link.click()
    expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
    opened.value.close()

    chat.send("Search again")
    frame = chat.log.locator("article.agent").last.frame_locator(".suggestions")
    expect(frame.get_by_text("the end")).to_be_visible()
    frame.get_by_role("button", name="Send").click()
    frame.get_by_role("link", name="top").click()
    expect(frame.get_by_text("the end")).to_be_visible()
    assert chat.page.evaluate("calls") == 0
    expect(chat.box).to_be_visible()
    chat.errors.clear()  # The browser tells what it has blocked.


def test_a_direction_character_in_a_link_reverses_only_the_text_of_the_link(
    chat: ChatPage, model: Model
) -> None:
    links = " ".join(f"[{text}](https://a.example)" for text in ("one\u202b", "two", "three"))
    model.play(Turn(text=[links]))
    chat.send("Links")
    answer = chat.wait_for_answer("three")
    starts = answer.locator("a").evaluate_all(
        "links => links.map((link) => link.getBoundingClientRect().left)"
    )
    assert starts == sorted(starts)


def test_a_direction_character_in_an_answer_or_a_title_reverses_nothing_behind_it(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["**one\u202e** two\u202e *three* four"]))
    chat.send("Order\u202e of\u2067 words")
    answer = chat.wait_for_answer("four")
    starts = answer.locator("strong, em").evaluate_all(
        "parts => parts.map((part) => part.getBoundingClientRect().left)"
    )
    assert starts == sorted(starts)
    assert [character for character in answer.inner_text() if not character.isprintable()] == []
    expect(chat.page).to_have_title("Order of words · Agents")
    chat.reload()
    assert "<title>Order of words · Agents</title>" in chat.page.request.get(chat.page.url).text()


def test_marks_that_are_stacked_on_letters_do_not_paint_over_other_messages(
    chat: ChatPage, model: Model
) -> None:
    chat.page.set_viewport_size({"width": 1000, "height": 1400})  # All messages are seen without scrolling.
    stacked = "".join(f"{letter}{MARKS_ABOVE * 60}{MARKS_BELOW * 60}" for letter in "zalgo")
    model.play(Turn(text=["A plain answer."]), Turn(text=[f"{stacked} was all."]), Turn(text=["After it."]))
    chat.send("Before")
    plain = chat.wait_for_answer("A plain answer.")
    chat.wait_until_idle()
    before = plain.screenshot(animations="disabled")
    chat.send(stacked)
    answer = chat.wait_for_answer("was all.")
    chat.send("After")
    chat.wait_for_answer("After it.")
    chat.wait_until_idle()
    assert plain.screenshot(animations="disabled") == before
    following = chat.messages.filter(has_text="After")
    with_marks = following.screenshot(animations="disabled")
    answer.evaluate("answer => { answer.style.visibility = 'hidden'; }")
    assert following.screenshot(animations="disabled") == with_marks
