"""Contract: people attach files by button, drop and paste; the model gets them; every tab shows and previews them."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, FilePayload, Locator, Route, expect

from tests.browser.accessibility import (
    PHONE,
    TOO_SMALL,
    problems_on_a_phone,
    serious_problems_in_both_schemes,
    width_in_large_letters,
)
from tests.browser.chat_page import ChatPage
from tests.browser.conftest import OpenTab
from tests.browser.model import Model
from tests.model_server import Call, Json, Turn

pytestmark = [pytest.mark.browser, pytest.mark.stack]

UPLOADS = re.compile(r"/files/(\?.*)?$")
SVG = "http://www.w3.org/2000/svg"
DROP = """async (files) => {
  const data = new DataTransfer();
  for (const { name, text, size } of files)
    data.items.add(new File([text ?? new Uint8Array(size)], name, { type: "text/plain" }));
  const fire = (type) =>
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  fire("dragenter");
  while (fire("dragover")) await new Promise((resolve) => setTimeout(resolve, 10)); // as a hand does, until it is taken
  fire("drop");
}"""
PASTE_PICTURE = """(image) => {
  const data = new DataTransfer();
  const bytes = Uint8Array.from(atob(image), (character) => character.charCodeAt(0));
  data.items.add(new File([bytes], "image.png", { type: "image/png" }));
  const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  document.getElementById("message").dispatchEvent(event);
}"""
DROP_TEXT = """([text, times]) => {
  const data = text.repeat(times);
  const event = new InputEvent("beforeinput", { inputType: "insertFromDrop", data, bubbles: true, cancelable: true });
  return document.getElementById("message").dispatchEvent(event);
}"""
"""Tell the field that a text is about to be inserted; True if the browser would insert it."""


def picture() -> bytes:
    """A PNG of 2 x 2 red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress((b"\0" + b"\xff\0\0" * 2) * 2)
    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def file(name: str, content: bytes | str, mime_type: str = "text/plain") -> FilePayload:
    buffer = content if isinstance(content, bytes) else content.encode()
    return {"name": name, "mimeType": mime_type, "buffer": buffer}


def last_parts(model: Model) -> list[dict[str, object]]:
    """The parts of the last content of the last request."""
    parts: list[dict[str, object]] = model.requests()[-1]["body"]["contents"][-1]["parts"]
    return parts


def message_frames(chat: ChatPage) -> list[dict[str, object]]:
    return [frame for data in chat.connection.sent if (frame := json.loads(data))["type"] == "message"]


@pytest.mark.forwarded
def test_files_are_sent_to_the_model_and_shown_in_every_tab(
    chat: ChatPage, open_tab: OpenTab, model: Model, tmp_path: Path
) -> None:
    model.play(Turn(text=["A red picture and a list."]))
    other = open_tab()
    other.open(chat.page.url)
    chat.attach(file("red.png", picture(), "image/png"), file("list.csv", "lamp,20\ndesk,120", "text/csv"))
    expect(chat.uploads.first.locator("img")).to_have_js_property("naturalWidth", 2)
    chat.reload()
    expect(chat.uploads).to_have_count(2)
    chat.send("What is this?")
    chat.wait_for_answer("A red picture")
    text, _, image, table = last_parts(model)
    assert text == {"text": "What is this?"}
    assert image["inlineData"] == {"data": base64.b64encode(picture()).decode(), "mimeType": "image/png"}
    assert table == {"text": "The file 'list.csv':\nlamp,20\ndesk,120"}
    assert message_frames(chat)[0]["files"] == [
        {"name": "red.png", "version": 0},
        {"name": "list.csv", "version": 0},
    ]
    for tab in (chat, other):
        expect(tab.files).to_have_text(["red.png", "list.csv"])
        expect(tab.files.filter(visible=True)).to_have_text(["list.csv"])  # the picture is shown itself
        expect(tab.log.locator(".picture img")).to_have_js_property("naturalWidth", 2)
    expect(chat.log.locator(".file-facts").nth(1)).to_have_text("CSV · 16\xa0bytes")
    entries = chat.log_entries()
    chat.reload()
    expect(chat.log.locator(".file-facts").nth(1)).to_have_text("CSV · 16\xa0bytes")
    chat.expect_entries(entries)
    assert chat.save("list.csv", tmp_path) == b"lamp,20\ndesk,120"


@pytest.mark.forwarded
def test_a_message_may_be_files_alone_and_is_resent_without_a_second_upload(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Thanks."]))
    chat.attach(file("notes.txt", "Tea."))
    chat.connection.cut()
    expect(chat.status).not_to_have_text("Connected")
    chat.send_button.click()
    expect(chat.page.locator("#outbox")).to_contain_text("notes.txt")
    chat.connection.restore()
    chat.wait_for_answer("Thanks.")
    expect(chat.files).to_have_text(["notes.txt"])
    expect(chat.page.locator(".bar-title")).to_have_text("notes.txt")
    chat.page.get_by_role("button", name="Files", exact=True).click()
    expect(chat.page.get_by_role("dialog", name="Files").locator("li")).to_have_count(1)


def test_files_are_dropped_pasted_and_removed(chat: ChatPage) -> None:
    chat.page.evaluate(DROP, [{"name": "a.txt", "text": "a"}, {"name": "b.txt", "text": "b"}])
    chat.page.evaluate(PASTE_PICTURE, base64.b64encode(picture()).decode())
    expect(chat.page.locator('.upload[data-state="ready"]')).to_have_count(3)
    expect(chat.send_button).to_be_enabled()
    for name in ("a.txt", "b.txt", "image.png"):
        with chat.page.expect_response("**/files/remove/") as removed:
            chat.page.get_by_role("button", name=f"Remove {name}").click()
        assert removed.value.status == 204
    expect(chat.uploads).to_have_count(0)
    expect(chat.box).to_be_focused()
    expect(chat.send_button).to_be_disabled()
    stored = chat.page.request.get(chat.address(f"/chat/{chat.session_id}/files/"))
    assert "There are no files" in stored.text()


def test_limits_are_said_in_words_before_anything_is_sent(chat: ChatPage) -> None:
    posts: list[str] = []
    chat.page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    notice = chat.page.locator("#notice")
    chat.page.evaluate(DROP, [{"name": "big.bin", "size": 11_000_000}])
    expect(notice).to_have_text("“big.bin” has 10.5 MB; the limit is 10.0 MB.")
    chat.page.evaluate(DROP, [{"name": "over.bin", "size": 10 * 1024 * 1024 + 1}])
    expect(notice).to_have_text("“over.bin” has 10.1 MB; the limit is 10.0 MB.")
    chat.page.locator("#attach-input").set_input_files([file("none.txt", "")])
    expect(notice).to_contain_text("“none.txt” is empty")
    chat.page.evaluate(DROP, [{"name": "..", "text": "x"}])
    expect(notice).to_have_text("A file with the name “..” cannot be uploaded. Rename it.")
    assert posts == []
    chat.attach(*(file(f"{number}.txt", "x") for number in range(10)))
    more = [file(name, "x") for name in ("more.txt", "b.txt", "c.txt")]
    chat.page.locator("#attach-input").set_input_files(more)
    expect(notice).to_have_text("A message may have 10 files. Not attached: more.txt, b.txt, c.txt")


def test_a_broken_upload_can_be_tried_again(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Thanks."]))
    chat.page.route(
        UPLOADS, lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    notice = chat.page.locator("#notice")
    long = "n" * 246 + ".txt"
    chat.page.locator("#attach-input").set_input_files([file("a.txt", "a"), file(long, "n")])
    expect(chat.page.locator('.upload[data-state="failed"]')).to_have_count(2)
    short = f"{long[:40]}…{long[-15:]}"
    expect(notice).to_have_text(f"Not uploaded: a.txt, {short}. No connection.")
    chat.send("Here")
    expect(notice).to_have_text(f"Remove the files that were not uploaded, or try again: a.txt, {short}")
    chat.page.get_by_role("button", name=f"Remove {long}").click()
    chat.send("Here")
    expect(notice).to_contain_text("Remove the file that was not uploaded")
    expect(chat.box).to_have_value("Here")
    chat.page.unroute(UPLOADS)
    chat.uploads.get_by_role("button", name="Retry a.txt").click()
    expect(chat.uploads).to_have_attribute("data-state", "ready")
    chat.send_button.click()
    chat.wait_for_answer("Thanks.")
    chat.errors.clear()  # the browser reports the failed request


def test_the_focus_stays_among_the_files_while_others_are_uploaded(chat: ChatPage) -> None:
    chat.attach(file("a.txt", "a"), file("b.txt", "b"))
    held: list[Route] = []
    chat.page.route(UPLOADS, lambda route: held.append(route))
    with chat.page.expect_request(UPLOADS):
        chat.page.locator("#attach-input").set_input_files([file("slow.txt", "s")])
    second = chat.page.get_by_role("button", name="Remove b.txt")
    second.focus()
    held[0].abort()
    retry = chat.uploads.get_by_role("button", name="Retry")
    expect(retry).to_be_visible()
    expect(second).to_be_focused()
    second.press("Enter")
    expect(chat.page.get_by_role("button", name="Remove slow.txt")).to_be_focused()
    with chat.page.expect_request(UPLOADS):
        retry.press("Enter")
    expect(chat.box).to_be_focused()
    chat.box.press("Enter")
    expect(chat.page.locator("#notice")).to_have_text("Wait until the files are uploaded.")
    held[1].continue_()
    expect(chat.uploads.last).to_have_attribute("data-state", "ready")
    expect(chat.page.locator("#notice")).to_be_hidden()
    chat.errors.clear()  # the browser reports the failed request


def test_a_name_does_not_turn_round_the_sentence_that_refuses_the_file(chat: ChatPage) -> None:
    chat.page.evaluate(DROP, [{"name": "photo\u202egpj.bin", "size": 11_000_000}])
    expect(chat.page.locator("#notice")).to_have_text("“photogpj.bin” has 10.5 MB; the limit is 10.0 MB.")


def test_a_text_that_makes_the_message_too_long_becomes_a_file_when_it_is_pasted(
    chat: ChatPage, model: Model
) -> None:
    model.play(Turn(text=["Long."]))
    text = "".join(f"line {number}\n" for number in range(3_310))
    assert len(text) == 31_990
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    chat.box.fill("Sum it up: ")
    chat.box.press("Control+v")
    expect(chat.box).to_have_value("Sum it up: ")
    chat.box.fill("word " * 100)
    chat.box.press("Control+v")
    expect(chat.page.locator('.upload[data-state="ready"]')).to_have_count(2)
    chat.page.get_by_role("button", name="Remove pasted-2.txt").click()
    chat.reload()
    expect(chat.uploads).to_contain_text("pasted.txtline 0 line 1")
    chat.uploads.get_by_role("link").click()
    expect(chat.page.get_by_role("dialog", name="pasted.txt").locator("pre")).to_have_text(text)
    chat.page.keyboard.press("Escape")
    chat.send("Sum it up")
    chat.wait_for_answer("Long.")
    assert [part["text"] for part in last_parts(model)] == ["Sum it up", f"The file 'pasted.txt':\n{text}"]


def test_no_text_is_cut_whatever_its_characters_and_its_length(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Odd."]))
    notice = chat.page.locator("#notice")
    assert chat.page.evaluate(DROP_TEXT, ["x", 32_000])
    assert not chat.page.evaluate(DROP_TEXT, ["x", 11_000_000])
    expect(notice).to_have_text("“pasted.txt” has 10.5 MB; the limit is 10.0 MB.")
    assert not chat.page.evaluate(DROP_TEXT, ["x", 10 * 1024 * 1024])
    expect(chat.uploads).to_have_attribute("data-state", "ready")
    chat.page.get_by_role("button", name="Remove pasted.txt").click()
    expect(chat.uploads).to_have_count(0)
    half_a_pair = chat.page.evaluate_handle("['字🙂\\0\\ud800', 10_000]")
    assert not chat.page.evaluate(DROP_TEXT, half_a_pair)
    expect(chat.uploads).to_have_attribute("data-state", "ready")
    chat.send("x" * 32_001)
    expect(notice).to_contain_text("The text has 32,001 characters; a message may have 32,000.")
    expect(chat.box).to_have_value("x" * 32_001)
    chat.send("y" * 32_000)
    chat.wait_for_answer("Odd.")
    said, attached = [str(part["text"]) for part in last_parts(model)]
    assert said == "y" * 32_000
    assert attached.endswith("\n" + "字🙂\ufffd\ufffd" * 10_000)


def test_an_edit_keeps_the_files_that_are_not_removed(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two."]))
    chat.attach(file("keep.txt", "keep"), file("drop.txt", "drop"))
    chat.send("First")
    chat.wait_for_answer("One.")
    chat.wait_until_idle()
    chat.log.locator("article.person").hover()
    chat.log.get_by_role("button", name="Edit").click()
    expect(chat.uploads).to_have_count(2)
    chat.page.get_by_role("button", name="Remove keep.txt").click()
    chat.page.get_by_role("button", name="Remove drop.txt").click()
    chat.reload()
    expect(chat.page.locator("#editing")).to_be_visible()
    expect(chat.uploads).to_have_count(0)
    chat.page.keyboard.press("Escape")
    chat.log.get_by_role("button", name="Edit").click()
    chat.page.get_by_role("button", name="Remove drop.txt").click()
    chat.send("Second")
    chat.wait_for_answer("Two.")
    expect(chat.messages).to_have_text(["Second"])
    expect(chat.files).to_have_text(["keep.txt"])
    assert [part["text"] for part in last_parts(model)] == ["Second", "The file 'keep.txt':\nkeep"]


def test_files_are_shown_beside_the_chat(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Thanks."]), Turn(text=["You are welcome."]))
    chat.attach(
        file("t.csv", "name,price\nlamp,20", "text/csv"),
        file("page.html", "<h1>Plan</h1><img src=x onerror=document.title='executed'>", "text/html"),
        file("notes.md", "# Plan\n\n- tea"),
        file("lamp.py", "def lamp(): pass"),
        file("red.svg", f"<svg xmlns='{SVG}' width='2' height='2'><script>alert(1)</script></svg>"),
        file("red.png", picture(), "image/png"),
        file("fake.png", "no picture", "image/png"),
        file("a.pdf", b"%PDF-1.4"),
        file("a.zip", b"PK\x03\x04"),
    )
    chat.send_button.click()
    chat.wait_for_answer("Thanks.")
    # Facts about the files move them when they come.
    expect(chat.log.locator(".file-facts:not([data-known])")).to_have_count(0)
    page = chat.page

    def show(name: str) -> Locator:
        chat.log.get_by_role("link", name=name, exact=True).click()
        pane = page.get_by_role("dialog", name=name, exact=True)
        expect(pane.get_by_role("heading", name=name, exact=True)).to_be_focused()
        return pane

    pane = show("t.csv")
    with page.expect_download() as download:
        pane.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "t.csv"
    assert download.value.path().read_text() == "name,price\nlamp,20"
    expect(pane.get_by_role("columnheader")).to_have_text(["name", "price"])
    expect(pane.get_by_role("cell")).to_have_text(["lamp", "20"])
    pane.get_by_role("button", name="Source").click()
    expect(pane.locator("pre")).to_have_text("name,price\nlamp,20")
    # The chat stays in use beside it.
    chat.send("And now?")
    chat.wait_for_answer("You are welcome.")
    expect(pane).to_be_visible()
    answer = chat.answers.last.bounding_box()
    beside = pane.bounding_box()
    assert answer and beside and answer["x"] + answer["width"] <= beside["x"]
    pane.locator("pre").click()
    page.keyboard.press("Escape")
    expect(pane).to_be_hidden()
    expect(chat.files.filter(has_text="t.csv")).to_be_focused()
    pane = show("page.html")
    expect(pane.frame_locator("iframe").get_by_role("heading")).to_have_text("Plan")
    expect(show("notes.md").get_by_role("listitem")).to_have_text("tea")
    expect(show("lamp.py").locator(".hljs-keyword")).to_have_text(["def", "pass"])
    expect(show("red.svg").locator("img")).to_have_js_property("naturalWidth", 2)
    expect(show("red.png").locator("img")).to_have_js_property("naturalWidth", 2)
    expect(show("fake.png").locator("pre")).to_have_text("no picture")
    pane = show("a.pdf")
    # Headless Chromium has no viewer.
    expect(pane).to_contain_text("This browser shows no PDF here.")
    pane.get_by_role("button", name="All files").click()
    pane = page.get_by_role("dialog", name="Files")
    pane.get_by_role("link", name="a.zip", exact=True).click()
    pane = page.get_by_role("dialog", name="a.zip")
    expect(pane).to_contain_text("There is no preview")
    pane.get_by_role("button", name="Close").click()
    expect(chat.files.filter(has_text="a.pdf")).to_be_focused()
    expect(chat.log.locator(".picture")).to_have_count(1)
    assert page.evaluate("document.title") != "executed"
    assert chat.errors and all("documents/page.html" in error for error in chat.errors)
    chat.errors.clear()  # the browser reports what it has not executed


def test_versions_are_compared_and_a_newer_one_is_offered(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["One."]), Turn(text=["Two."]), Turn(text=["Three."]))
    page = chat.page

    def send(text: str, answer: str) -> None:
        chat.attach(file("plan.txt", text))
        chat.send_button.click()
        chat.wait_for_answer(answer)

    send("tea\nmilk\n", "One.")
    send("tea\nsugar\n", "Two.")
    chat.files.last.click()
    pane = page.get_by_role("dialog", name="plan.txt")
    expect(pane).to_contain_text("Version 2 of 2")
    pane.get_by_role("button", name="Changes").press("Enter")
    expect(pane.locator("del, ins")).to_have_text(["- milk", "+ sugar"])
    expect(pane.get_by_role("heading", name="plan.txt")).to_be_focused()
    assert serious_problems_in_both_schemes(page) == []
    send("tea\nsugar\nrum\n", "Three.")
    offer = pane.get_by_role("status")
    expect(offer).to_contain_text("There is a newer version.")
    assert serious_problems_in_both_schemes(page) == []
    assert page.evaluate(TOO_SMALL) == []
    offer.get_by_role("button", name="Show it").press("Enter")
    expect(pane.locator("pre")).to_have_text("tea\nsugar\nrum\n")
    expect(offer).to_be_empty()
    expect(pane.get_by_role("button", name="Next version")).to_be_disabled()
    for number in (2, 1):
        pane.get_by_role("button", name="Previous version").press("Enter")
        expect(pane).to_contain_text(f"Version {number} of 3")
    expect(pane.locator("pre")).to_have_text("tea\nmilk\n")
    expect(offer).to_be_empty()


def drawn(data: bytes) -> Json:
    """A picture in an answer, in Gemini's JSON."""
    return {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}}


def test_pictures_in_an_answer_are_shown_as_a_gallery(chat: ChatPage, model: Model, tmp_path: Path) -> None:
    pictures = [drawn(picture()), drawn(picture())]
    model.play(
        Turn(text=["Two squares:"], parts=pictures),
        Turn(
            text=["And one:"], parts=[drawn(picture()), drawn(b"<script>document.title='executed'</script>")]
        ),
        Turn(text=["You are welcome."]),
    )
    chat.send("Draw.")
    chat.wait_for_answer("Two squares:")
    gallery = chat.log.locator(".gallery").first
    shown = gallery.get_by_role("img", name="Picture made by Help desk")
    expect(shown).to_have_count(2)
    for image in shown.all():
        expect(image).to_have_js_property("naturalWidth", 2)
    left, right = gallery.get_by_role("listitem").evaluate_all(
        "(items) => items.map((item) => item.offsetLeft)"
    )
    assert right > left
    chat.send("And one more.")
    chat.wait_for_answer("And one:")
    # What is no picture is a file to download.
    fake = chat.log.locator(".gallery").last.get_by_role("listitem").last
    expect(fake.locator(".picture")).to_have_count(0)
    expect(fake.locator(".file")).to_be_visible()
    chat.assert_same_after_reload()
    assert chat.page.evaluate("document.title") != "executed"
    shown.first.locator("xpath=..").focus()
    chat.page.keyboard.press("Enter")
    panel = chat.page.get_by_role("dialog")
    expect(panel.locator("img")).to_have_js_property("naturalWidth", 2)
    chat.page.keyboard.press("Escape")
    expect(shown.first.locator("xpath=..")).to_be_focused()
    name = gallery.get_by_role("listitem").first.get_attribute("data-name") or ""
    assert chat.save(name, tmp_path) == picture()
    chat.send("Thank you.")
    chat.wait_for_answer("You are welcome.")
    contents = model.requests()[-1]["body"]["contents"]
    assert contents[1]["parts"] == [{"text": "Two squares:"}, *pictures]
    assert serious_problems_in_both_schemes(chat.page) == []
    assert problems_on_a_phone(chat.page) == []


def test_a_picture_of_a_tool_is_shown_to_the_person_and_to_the_model(open_tab: OpenTab, model: Model) -> None:
    chat = open_tab().open_new_chat("questions")
    model.play(
        Turn(calls=[Call(name="draw_seal", args={"data": picture().hex()})]), Turn(text=["A red seal."])
    )
    chat.send("Seal it.")
    chat.wait_for_answer("A red seal.")
    shown = chat.log.locator(".picture img")
    expect(shown).to_have_js_property("naturalWidth", 2)
    introduction, image = last_parts(model)
    assert introduction == {"text": f"The file {shown.get_attribute('alt')!r}:"}
    assert image == drawn(picture())
    chat.assert_same_after_reload()


def test_files_are_accessible_and_fit_a_phone(chat: ChatPage, model: Model) -> None:
    page = chat.page
    model.play(Turn(text=["Thanks."]))
    chat.attach(file("n" * 100 + ".csv", "a,b", "text/csv"))
    chat.attach(file("red.png", picture(), "image/png"), file("n" * 100 + ".csv", "a,b\n1,2", "text/csv"))
    chat.send("See")
    chat.wait_for_answer("Thanks.")
    expect(chat.log.locator(".file-facts").last).to_have_text("CSV · 7\xa0bytes · version 2")
    chat.attach(file("x" * 100 + ".txt", "x"), file("red.png", picture(), "image/png"))
    chat.page.evaluate(DROP_TEXT, ["word ", 20_000])
    expect(chat.uploads.last).to_have_attribute("data-state", "ready")
    assert page.evaluate(TOO_SMALL) == []
    for is_phone in (False, True):
        if is_phone:
            assert problems_on_a_phone(page) == []
        assert serious_problems_in_both_schemes(page) == []
        chat.files.last.click()
        expect(page.get_by_role("dialog").get_by_role("cell").first).to_be_visible()
        assert serious_problems_in_both_schemes(page) == []
        assert page.evaluate(TOO_SMALL) == []
        assert page.locator("dialog:modal").count() == is_phone
        page.keyboard.press("Escape")
    name = chat.files.last.locator("span").bounding_box()
    assert name and name["width"] > PHONE["width"] / 2
    assert width_in_large_letters(page) == PHONE["width"]
    box = chat.box.bounding_box()
    assert box and box["height"] < 150  # two lines for the placeholder


def test_files_do_not_push_the_composer_of_a_new_chat_out_of_view(chat: ChatPage) -> None:
    chat.page.set_viewport_size(PHONE)
    chat.attach(*(file(f"a long name of a file, {number}.txt", "x") for number in range(6)))
    expect(chat.box).to_be_in_viewport(ratio=1)
    expect(chat.send_button).to_be_in_viewport(ratio=1)


FILE_LIST = re.compile(r"/files/(\?.*)?$")


def test_facts_about_files_come_after_a_failed_request(chat: ChatPage, model: Model) -> None:
    model.play(Turn(text=["Thanks."]), Turn(text=["Again."]))
    chat.attach(file("t.csv", "name,price\nlamp,20", "text/csv"))
    chat.page.route(FILE_LIST, lambda route: route.fulfill(status=503), times=1)
    with chat.page.expect_response(FILE_LIST):
        chat.send_button.click()
    chat.wait_for_answer("Thanks.")
    chat.wait_until_idle()
    chat.errors.clear()  # the browser reports the failed request
    chat.send("More")
    chat.wait_for_answer("Again.")
    expect(chat.log.locator(".file-facts")).to_have_text("CSV · 18\xa0bytes")


def test_the_browser_asks_before_it_leaves_a_page_with_a_file_that_is_not_uploaded(chat: ChatPage) -> None:
    page = chat.page
    asked: list[str] = []
    held: list[Route] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.route(UPLOADS, lambda route: held.append(route))
    chat.box.click()  # a browser does not ask before the person has touched the page
    with page.expect_request(UPLOADS):
        page.locator("#attach-input").set_input_files(file("a.txt", "a"))
    expect(chat.uploads).to_have_attribute("data-state", "uploading")
    with page.expect_event("dialog"):
        page.evaluate("location.reload()")
    expect(chat.uploads).to_have_attribute("data-state", "uploading")
    held[0].continue_()
    expect(chat.uploads).to_have_attribute("data-state", "ready")
    chat.reload()
    expect(chat.uploads).to_have_attribute("data-state", "ready")
    chat.box.click()
    page.locator("#attach-input").set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": b"b"})
    page.get_by_role("button", name="Remove b.txt").click()
    chat.reload()
    assert asked == ["beforeunload"]
