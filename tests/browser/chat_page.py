"""Page object of the chat: the controls that browser tests operate and the elements that they read."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import ConsoleMessage, FilePayload, Locator, Page, WebSocketRoute, expect

ANSWER_MILLISECONDS = 20_000
DISTANCE_TO_END = "(document.documentElement.scrollHeight - innerHeight - scrollY)"
RESUMED = "The server restarted. This answer was resumed."
"""Mark of an answer that another process completed."""
READ_ENTRIES = """articles => articles.map((article) => {
    const copy = article.cloneNode(true);
    copy.querySelectorAll(".file-facts, .versions").forEach((part) => part.remove());
    return [article.id, copy.textContent.replace(/\\s+/g, " ").trim()];
})"""
KEEP_FRAMES = """
window.keptFrames = [];
const keep = (...values) => keptFrames.push([Math.round(performance.now()), ...values]);
window.EventSource = class extends EventSource {
  constructor(url) {
    super(url);
    keep("greet", String(url));
    this.addEventListener("message", ({ data }) => data.includes('"pong"') || keep("stream", data.slice(0, 400)));
    this.addEventListener("error", () => keep("error"));
  }
};
const nativeFetch = window.fetch;
window.fetch = async (url, options) => {
  const isFrame = String(url).includes("/frames/");
  if (isFrame) keep("post", options.body.slice(0, 400));
  const response = await nativeFetch(url, options);
  if (isFrame) keep("reply", response.status, (await response.clone().text()).slice(0, 400));
  return response;
};
"""
READ_WORK = """
async () => {
  const { page } = await import("/static/sessions_app/chat/main.js");
  const statuses = Object.fromEntries(page.invocations.statuses);
  return { statuses, connection: page.socket.state, now: performance.now(), frames: window.keptFrames };
}
"""
"""What a page knows of the work in its chat."""


class ChatPage:
    """One browser tab."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._record_error)
        self._connection: Connection | None = None
        self.log = page.get_by_role("log")
        self.live = page.locator("#live")
        self.status = page.locator("#connection")
        self.box = page.get_by_label("Message", exact=True)
        self.send_button = page.get_by_role("button", name="Send", exact=True)
        self.stop_button = page.get_by_role("button", name="Stop", exact=True)
        self.retry_button = page.get_by_role("button", name="Try again")

    def _record_error(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location['url']})")

    def forget_storage(self) -> None:
        """Empty the storage that tabs share; the tab has opened no page yet."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": self.base_url, "storageTypes": "local_storage"})
        session.detach()

    # The websocket

    def forward(self) -> None:
        """Forward the websocket of pages that the tab opens from now on, which takes CPU time for each frame."""
        self._connection = Connection(self.page)

    @property
    def connection(self) -> Connection:
        """The websocket, which a test can interrupt that has the mark `forwarded`."""
        assert self._connection, "Give the test the mark `forwarded`."
        return self._connection

    # Navigation

    def sign_in(self, name: str, password: str) -> None:
        """Sign in on the login page that the site redirects to."""
        self.page.goto(self.base_url)
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def new_chat(self, app: str = "") -> str:
        """Open a new chat with the named app, by default the first one. Return its URL."""
        self.page.get_by_role("link", name=f"New chat with {app}" if app else "New chat").first.click()
        self.page.wait_for_url(re.compile(r"/chat/[0-9a-f-]{36}/\?new="))
        self.wait_until_connected()
        return self.page.url

    def open_new_chat(self, app: str = "help_desk") -> ChatPage:
        """Go to a new chat without the click of `new_chat` on the home page, which takes twice the time."""
        self.open(f"/chat/new/{app}/")
        return self

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
        """Return the absolute URL of a path of the site."""
        return urljoin(self.base_url, path)

    @property
    def session_id(self) -> str:
        """The session id in the tab's URL."""
        return urlsplit(self.page.url).path.split("/")[2]

    # Messages

    def send(self, text: str) -> None:
        """Type a message and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def wait_for_answer(self, text: str | re.Pattern[str]) -> Locator:
        """Wait until a finished answer contains the text; return the answer."""
        answer = self.answers.filter(has_text=text).last
        expect(answer).to_be_visible(timeout=ANSWER_MILLISECONDS)
        return answer

    def wait_until_idle(self) -> None:
        """Wait until no invocation runs: the page is not busy and streams no text."""
        try:
            expect(self.page.locator("main[data-busy]")).to_have_count(0, timeout=ANSWER_MILLISECONDS)
            expect(self.live.locator("article")).to_have_count(0)
        except AssertionError as error:
            error.add_note(json.dumps(self.page.evaluate(READ_WORK), indent=1))
            raise

    def wait_until_at_end(self) -> None:
        """Wait until the end of the chat is in view: the page follows its text in the next frame that it draws."""
        self.page.wait_for_function(f"() => {DISTANCE_TO_END} < 5")

    def record_frames(self) -> None:
        """Keep the frames of pages without websocket that the tab opens from now on, for a failure to show them."""
        self.page.add_init_script(KEEP_FRAMES)

    # Elements

    @property
    def answers(self) -> Locator:
        """The agents' finished texts, in order."""
        return self.log.locator("article.agent .prose")

    @property
    def growing(self) -> Locator:
        """The streamed texts of unfinished answers, without thoughts."""
        return self.live.locator("article > .growing")

    @property
    def messages(self) -> Locator:
        """The person's messages, in order."""
        return self.log.locator("article.person .said")

    @property
    def unsent(self) -> Locator:
        """Messages that the server has not acknowledged yet."""
        return self.page.locator("#outbox article")

    @property
    def errors_shown(self) -> Locator:
        """The error messages in the log."""
        return self.log.locator(".error")

    @property
    def marks(self) -> Locator:
        """Notes under answers, such as "Stopped"."""
        return self.log.locator(".mark")

    @property
    def state_changes(self) -> Locator:
        """The chips of state deltas: "state: key = value"."""
        return self.log.locator(".chips > li")

    @property
    def known_state(self) -> Locator:
        """The panel "State of this chat": the session's state."""
        return self.page.locator("#state")

    @property
    def schedules(self) -> Locator:
        """The panel of scheduled tasks; hidden when there are none."""
        return self.page.locator("#schedules")

    @property
    def fired_tasks(self) -> Locator:
        """The scheduled tasks that have fired, in the log."""
        return self.log.locator("article.clock")

    @property
    def files(self) -> Locator:
        """The links that preview a file."""
        return self.log.locator("a.file")

    @property
    def uploads(self) -> Locator:
        """The files of the message that is being written; their `data-state` is uploading, ready or failed."""
        return self.page.locator("#uploads > li")

    def attach(self, *files: FilePayload) -> None:
        """Choose files for the message, as the button does, and wait until they are uploaded."""
        before = self.uploads.count()
        self.page.locator("#attach-input").set_input_files(list(files))
        expect(self.uploads).to_have_count(before + len(files))
        expect(self.page.locator('.upload:not([data-state="ready"])')).to_have_count(0)

    @property
    def chats(self) -> Locator:
        """The entries of the list of chats."""
        return self.page.locator("#chats .chat")

    def choose(self, title: str, option: str) -> None:
        """Choose an option of the menu of a chat in the list."""
        self.page.get_by_role("button", name=f"Options of {title}", exact=True).click()
        self.page.get_by_role("menuitem", name=option, exact=True).click()

    def tool(self, name: str) -> Locator:
        """Return the cards of a tool's calls; `data-state`: open, ok, failed, cancelled, declined or interrupted."""
        return self.log.locator(f'.tool[data-call-id][data-tool="{name}"]')

    def job(self, name: str) -> Locator:
        """Return the cards of a tool's jobs; their `data-status` is the job's status."""
        return self.log.get_by_role("region", name=name)

    def log_entries(self) -> list[list[str]]:
        """Return id and text of each log entry in order, with collapsed parts: identical live and after a reload.

        The facts about files are left out: the page loads them later.
        """
        entries: list[list[str]] = self.log.locator("article[id]").evaluate_all(READ_ENTRIES)
        return entries

    def expect_entries(self, entries: list[list[str]]) -> None:
        """Wait until the log has these entries: the scripts that fold calls and show steps come after its rows."""
        deadline = time.monotonic() + ANSWER_MILLISECONDS / 1000
        while self.log_entries() != entries and time.monotonic() < deadline:
            self.page.wait_for_timeout(50)
        assert self.log_entries() == entries

    def assert_same_after_reload(self) -> None:
        live = self.log_entries()
        self.reload()
        self.expect_entries(live)

    def save(self, name: str, folder: Path) -> bytes:
        """Download the file with this name into the folder; return its content."""
        with self.page.expect_download() as download:
            self.log.get_by_role("link", name=f"Download {name}", exact=True).click()
        assert download.value.suggested_filename == name
        download.value.save_as(folder / name)
        return (folder / name).read_bytes()


class Connection:
    """The page's websocket, forwarded to the real server until a test interrupts it."""

    def __init__(self, page: Page) -> None:
        self.sent: list[str | bytes] = []
        self._open: list[WebSocketRoute] = []
        self._is_cut = False
        self._is_silent = False
        self._held: list[str | bytes] | None = None
        page.route_web_socket(re.compile(r"/ws/chat/"), self._forward)

    def cut(self) -> None:
        """Close the connection and refuse new ones."""
        self._is_cut = True
        for route in self._open:
            route.close(code=1011)
        self._open.clear()

    def restore(self) -> None:
        """Accept new connections again."""
        self._is_cut = self._is_silent = False

    def silence(self) -> None:
        """Keep the connection open and drop all frames."""
        self._is_silent = True

    def hold_events(self) -> None:
        """Keep the frames of events back until `release_events`; other frames overtake them."""
        self._held = []

    def release_events(self) -> None:
        held = self._held or []
        self._held = None
        for data in held:
            self._open[-1].send(data)

    def inject(self, **frame: Any) -> None:
        """Send a frame to the page as if it came from the server."""
        self._open[-1].send(json.dumps({"v": 1, **frame}))

    def _forward(self, route: WebSocketRoute) -> None:
        if self._is_cut:
            route.close(code=1011)
            return
        server = route.connect_to_server()
        self._open.append(route)
        route.on_message(lambda data: self._forward_to_server(server, data))
        server.on_message(lambda data: self._forward_to_page(route, data))

    def _forward_to_server(self, server: WebSocketRoute, data: str | bytes) -> None:
        self.sent.append(data)
        if not self._is_silent:
            server.send(data)

    def _forward_to_page(self, route: WebSocketRoute, data: str | bytes) -> None:
        if self._is_silent:
            return
        if self._held is not None and json.loads(data)["type"] == "event":
            self._held.append(data)
        else:
            route.send(data)
