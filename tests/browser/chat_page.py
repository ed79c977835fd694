"""The chat as a person meets it: what browser tests press, write and read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import ConsoleMessage, Locator, Page, WebSocketRoute, expect

ANSWER_MILLISECONDS = 20_000


class ChatPage:
    """One tab. `connection` is its websocket, which a test may cut."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)
        self.connection = Connection(page)
        self.log = page.get_by_role("log")
        self.live = page.locator("#live")
        self.status = page.locator("#connection")
        self.box = page.get_by_label("Message", exact=True)
        self.send_button = page.get_by_role("button", name="Send", exact=True)
        self.stop_button = page.get_by_role("button", name="Stop", exact=True)
        self.retry_button = page.get_by_role("button", name="Try again")

    def _note(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    # Getting there

    def sign_in(self, name: str, password: str) -> None:
        """From wherever the site asks for it to the list of chats."""
        self.page.goto(self.base_url)
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def new_chat(self) -> str:
        """Begin a chat with the first app; returns its address."""
        self.page.get_by_role("button", name="New chat").first.click()
        self.page.wait_for_url(re.compile(r"/chat/[0-9a-f-]{36}/$"))
        self.wait_until_connected()
        return self.page.url

    def open(self, address: str) -> None:
        """Go to a chat."""
        self.page.goto(self.address(address))
        self.wait_until_connected()

    def reload(self) -> None:
        self.page.reload()
        self.wait_until_connected()

    def wait_until_connected(self) -> None:
        expect(self.status).to_have_text("Connected")

    def address(self, path: str) -> str:
        """The whole address of a path of the site."""
        return urljoin(self.base_url, path)

    @property
    def session_id(self) -> str:
        """The id in the address of the chat that is open."""
        return urlsplit(self.page.url).path.split("/")[2]

    # Talking

    def send(self, text: str) -> None:
        """Write a message and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def wait_for_answer(self, text: str | re.Pattern[str]) -> Locator:
        """Wait until an agent's finished message has the text."""
        answer = self.answers.filter(has_text=text).last
        expect(answer).to_be_visible(timeout=ANSWER_MILLISECONDS)
        return answer

    def wait_until_idle(self) -> None:
        """Wait until nothing runs: the page offers no Stop and no text grows."""
        expect(self.page.locator("main[data-busy]")).to_have_count(0, timeout=ANSWER_MILLISECONDS)
        expect(self.live.locator("article")).to_have_count(0)

    # Reading

    @property
    def answers(self) -> Locator:
        """What agents said, in order."""
        return self.log.locator("article.agent .prose")

    @property
    def growing(self) -> Locator:
        """The text of answers that are being written, thoughts left out."""
        return self.live.locator("article > .growing")

    @property
    def messages(self) -> Locator:
        """What the person said, in order."""
        return self.log.locator("article.person .said")

    @property
    def unsent(self) -> Locator:
        """Messages that the server has not taken yet."""
        return self.page.locator("#outbox article")

    @property
    def errors_shown(self) -> Locator:
        """The sentences that say what went wrong."""
        return self.log.locator(".error")

    @property
    def marks(self) -> Locator:
        """ "Stopped" under an answer."""
        return self.log.locator(".mark")

    @property
    def state_changes(self) -> Locator:
        """The chips "state: key = value"."""
        return self.log.locator(".chips > li")

    @property
    def known_state(self) -> Locator:
        """The panel "State of this chat"."""
        return self.page.locator("#state")

    @property
    def schedules(self) -> Locator:
        """The panel of the scheduled tasks; hidden when there is none."""
        return self.page.locator("#schedules")

    @property
    def woken_by(self) -> Locator:
        """The scheduled tasks in the log whose time has come."""
        return self.log.locator("article.clock")

    @property
    def files(self) -> Locator:
        """The links that save a file."""
        return self.log.locator("a.file")

    def tool(self, name: str) -> Locator:
        """The cards of the calls of a tool; `data-state` is open, ok or failed."""
        return self.log.locator(".tool[data-call-id]").filter(has=self.page.locator("code", has_text=name))

    def job(self, name: str) -> Locator:
        """The cards of a tool's jobs; `data-status` is the job's status."""
        return self.log.get_by_role("region", name=name)

    def shown(self) -> list[list[str]]:
        """Id and text of everything in the log, in order, folded parts too: the same live and after a reload."""
        read = "all => all.map((one) => [one.id, one.textContent.replace(/\\s+/g, ' ').trim()])"
        articles: list[list[str]] = self.log.locator("article[id]").evaluate_all(read)
        return articles

    def save(self, name: str, folder: Path) -> bytes:
        """Save the file of that name; returns what is in it."""
        with self.page.expect_download() as saving:
            self.files.filter(has_text=name).click()
        assert saving.value.suggested_filename == name
        saving.value.save_as(folder / name)
        return (folder / name).read_bytes()

    def text_so_far(self) -> str:
        """What the last answer says, finished or still growing."""
        growing = self.growing.last
        return (growing if growing.count() else self.answers.last).inner_text()


class Connection:
    """The page's websocket, passed on to the real server until it is cut."""

    def __init__(self, page: Page) -> None:
        self.sent: list[str | bytes] = []
        self._open: list[WebSocketRoute] = []
        self._is_cut = False
        self._is_silent = False
        page.route_web_socket(re.compile(r"/ws/chat/"), self._pass_on)

    def cut(self) -> None:
        """Drop the connection and refuse new ones."""
        self._is_cut = True
        for route in self._open:
            route.close(code=1011)
        self._open.clear()

    def restore(self) -> None:
        """Let new connections through."""
        self._is_cut = self._is_silent = False

    def silence(self) -> None:
        """Keep the connection open, and let nothing through it any more."""
        self._is_silent = True

    def tell(self, **frame: Any) -> None:
        """Let the page have a frame as from the server."""
        self._open[-1].send(json.dumps({"v": 1, **frame}))

    def _pass_on(self, route: WebSocketRoute) -> None:
        if self._is_cut:
            route.close(code=1011)
            return
        server = route.connect_to_server()
        self._open.append(route)
        route.on_message(lambda data: self._to_server(server, data))
        server.on_message(lambda data: None if self._is_silent else route.send(data))

    def _to_server(self, server: WebSocketRoute, data: str | bytes) -> None:
        self.sent.append(data)
        if not self._is_silent:
            server.send(data)
