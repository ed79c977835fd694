"""Contract: `docs/embedding.md`, followed literally in a fresh Django project, puts a chat into any page of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, ConsoleMessage, FrameLocator, Page, Route, StorageState, expect
from websockets.sync.client import connect

from adk_site.embedded.postgres import postgres_url
from adk_site.embedded.redis import redis_url
from tests.browser.model import Model
from tests.model_server import Turn
from tests.other_project import (
    COLOURS,
    PAGE,
    PASSWORD,
    USER,
    OtherProject,
    build_wheel,
    inherited_variables,
    install,
)
from tests.stack.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.stack]

EMBEDDED = re.compile(r"/assistant/embedded/shop/[0-9a-f-]{36}/$")
IN_THE_PAGE, BUBBLE = "adk-chat:not([bubble])", "adk-chat[bubble]"
TAG_IN_THE_PAGE = (
    '<adk-chat src="/assistant/embedded/shop/"\n  label="Chat with Shop"\n  close="Close the chat">'
)
LACKING = ["E010", "E011", "E012", "E013", "E014", "W007", "W008", "W009", "W010"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def project(
    wheel: Path, site: Stack, model: Model, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OtherProject]:
    servers = postgres_url(site.data), redis_url(site.data)
    python = install(wheel, "lowest-direct")
    with OtherProject(python, tmp_path_factory.mktemp("other"), *servers, model.environment) as running:
        yield running


@contextmanager
def tab(browser: Browser, project: OtherProject, cookies: StorageState | None = None) -> Iterator[Page]:
    """A tab on the project; fails if a page reports an error, such as a violation of the content security policy."""
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    context = browser.new_context(base_url=project.base_url, storage_state=cookies)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", note)
    yield page
    context.close()
    assert errors == []


@pytest.fixture(scope="module")
def cookies(browser: Browser, project: OtherProject) -> StorageState:
    """The cookies of a person who has followed the link in the frame to the sign-in page of the project."""
    with tab(browser, project) as page:
        page.goto("/")
        chat_in(page, IN_THE_PAGE).get_by_role("link", name="Sign in").click()
        page.get_by_label("Username").fill(USER)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="My shop")).to_be_visible()
        return {"cookies": page.context.storage_state()["cookies"]}


@pytest.fixture
def page(browser: Browser, project: OtherProject, cookies: StorageState) -> Iterator[Page]:
    with tab(browser, project, cookies) as opened:
        yield opened


def chat_in(page: Page, element: str) -> FrameLocator:
    return page.locator(element).frame_locator("iframe")


def serve_changed(page: Page, old: str, new: str) -> None:
    """Change the page of the project on its way to the browser."""

    def change(route: Route) -> None:
        response = route.fetch()
        assert old in response.text()
        route.fulfill(response=response, body=response.text().replace(old, new))

    page.route(re.compile(r"^http://[^/]+/$"), change)


def say(chat: FrameLocator, text: str) -> None:
    chat.get_by_label("Message", exact=True).fill(text)
    chat.get_by_label("Message", exact=True).press("Enter")


def test_a_person_chats_in_the_page_and_finds_the_chat_again(page: Page, model: Model) -> None:
    model.play(Turn(text=["The lamp is in stock."]))
    page.goto("/")
    chat = chat_in(page, IN_THE_PAGE)
    expect(chat.locator("#connection")).to_have_text("Connected")
    expect(page.locator("body")).to_be_focused()
    say(chat, "Have you a lamp?")
    expect(chat.get_by_role("log").get_by_text("The lamp is in stock.")).to_be_visible()
    page.reload()
    expect(chat.get_by_role("log").get_by_text("The lamp is in stock.")).to_be_visible()
    chat.get_by_role("link", name="New chat").click()
    expect(chat.get_by_role("log").get_by_text("The lamp is in stock.")).to_have_count(0)
    with page.context.expect_page() as opened:
        chat.get_by_role("link", name="Open in full").click()
    expect(opened.value.get_by_role("navigation", name="Chats")).to_contain_text("Have you a lamp?")
    expect(opened.value.locator("#connection")).to_have_text("Connected")


def test_the_bubble_loads_nothing_before_it_is_opened_and_escape_closes_it(page: Page, model: Model) -> None:
    model.play(Turn(text=["Tomorrow."]))
    serve_changed(page, TAG_IN_THE_PAGE, "<div>")
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.rpartition("/")[2]))
    page.goto("/")
    button = page.get_by_role("button", name="Chat with Shop")
    expect(button).to_have_attribute("aria-expanded", "false")
    page.wait_for_load_state("networkidle")
    assert loaded == ["", "embed.js"]
    button.press("Enter")
    chat = chat_in(page, BUBBLE)
    expect(page.get_by_role("dialog", name="Chat with Shop")).to_be_visible()
    expect(chat.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("When does it come?")
    page.keyboard.press("Enter")
    expect(chat.get_by_role("log").get_by_text("Tomorrow.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Chat with Shop")).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    page.get_by_role("button", name="Close the chat").click()
    expect(button).to_be_focused()


def test_the_chat_in_the_page_takes_files_and_works_without_websockets(page: Page, model: Model) -> None:
    model.play(Turn(text=["It is a lamp."]))
    page.add_init_script("WebSocket.prototype.send = function () { this.close(); };")
    page.goto("/")
    chat = chat_in(page, IN_THE_PAGE)
    expect(chat.locator("#connection")).to_have_text("Connected", timeout=20_000)
    chat.locator("#attach-input").set_input_files(
        {"name": "lamp.txt", "mimeType": "text/plain", "buffer": b"A lamp"}
    )
    expect(chat.locator('.upload[data-state="ready"]')).to_contain_text("6 bytes")
    say(chat, "See")
    expect(chat.get_by_role("log").get_by_text("It is a lamp.")).to_be_visible()


def test_a_narrow_screen_is_filled_by_the_bubble(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto("/")
    page.get_by_role("button", name="Chat with Shop").click()
    chat = page.locator("adk-chat[bubble] iframe")
    expect(chat_in(page, BUBBLE).get_by_label("Message", exact=True)).to_be_visible()
    assert chat.bounding_box() == {"x": 0, "y": 0, "width": 360, "height": 640}
    width = chat.content_frame.locator("html").evaluate("root => root.scrollWidth")
    assert width == 360


def test_the_chat_has_the_colours_of_the_page(page: Page) -> None:
    (style,) = COLOURS.findall(PAGE)
    page.route(
        re.compile(r"/colours\.css$"), lambda route: route.fulfill(body=style, content_type="text/css")
    )
    serve_changed(page, "</head>", '<link rel="stylesheet" href="/colours.css"></head>')
    page.goto("/")
    button = chat_in(page, IN_THE_PAGE).get_by_role("button", name="Send", exact=True)
    expect(button).to_have_css("background-color", "rgb(122, 46, 142)")


def test_only_the_pages_for_frames_may_be_framed_and_only_by_the_site(page: Page) -> None:
    framed = page.request.get("/assistant/embedded/shop/")
    assert EMBEDDED.search(framed.url)
    full = page.request.get("/assistant/")
    for response, ancestors, header in ((framed, "'self'", "SAMEORIGIN"), (full, "'none'", "DENY")):
        assert f"frame-ancestors {ancestors}" in response.headers["content-security-policy"]
        assert response.headers["x-frame-options"] == header


def test_programs_find_the_http_api_also_under_uvicorn(
    page: Page, project: OtherProject, cookies: StorageState, model: Model
) -> None:
    model.play(Turn(text=["Tomorrow."]))
    session = str(uuid4())
    values = {cookie["name"]: cookie["value"] for cookie in cookies["cookies"]}
    headers = {"X-CSRFToken": values["csrftoken"]}
    with project.under_uvicorn() as url:
        api = f"{url}/api/v1"
        assert UUID(page.request.get(f"{api}/me").json()["user_id"])
        new = {"app": "shop", "session_id": session}
        assert page.request.post(f"{api}/sessions", data=new, headers=headers).status == 201
        run = page.request.post(f"{api}/sessions/{session}/runs", data={"text": "When?"}, headers=headers)
        stream = page.request.get(f"{url}{run.headers['location']}/stream").text()
        assert "Tomorrow." in stream
        assert "event: end" in stream
        cookie = "; ".join(f"{name}={value}" for name, value in values.items())
        address = f"{url.replace('http', 'ws', 1)}/ws/chat/{session}/"
        with connect(address, additional_headers={"Cookie": cookie, "Origin": url}) as socket:
            socket.send(json.dumps({"v": 1, "type": "hello", "after": 0}))
            while "Tomorrow." not in str(socket.recv(timeout=30)):
                pass
    page.goto("/api/v1/docs")
    expect(page.get_by_text("Agents of this site")).to_be_visible()


def test_a_project_with_the_newest_packages_that_lacks_a_setting_is_told_so(
    wheel: Path, tmp_path: Path
) -> None:
    python = install(wheel, "highest")
    environment = inherited_variables(python)
    subprocess.run(["django-admin", "startproject", "mysite"], check=True, cwd=tmp_path, env=environment)
    with (tmp_path / "mysite" / "mysite" / "settings.py").open("a") as settings:
        settings.write('INSTALLED_APPS += ["sessions_app"]\n')
    answer = subprocess.run(
        [python, "manage.py", "check"],
        cwd=tmp_path / "mysite",
        env=environment,
        capture_output=True,
        text=True,
    )
    assert sorted(re.findall(r"\(sessions_app\.(\w+)\)", answer.stderr)) == LACKING
    assert "Traceback" not in answer.stderr
