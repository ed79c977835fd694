"""Rendered events: HTML of an event, its tags, and hostile texts that must not become active in it."""

from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from runtime.events import Event
from sessions_app.rendering.html import render_event
from sessions_app.rendering.session_view import Reader, SessionView

SESSION = UUID("11111111-2222-3333-4444-555555555555")
VIEW = SessionView(SESSION, "help_desk")
DETAILS = SessionView(SESSION, "help_desk", Reader(shows_details=True))
FILES = f"/chat/{SESSION}/artifacts/"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    '![x](https://evil.example/?"onerror="alert(1))',
    "![<img src=x onerror=alert(1)>](https://evil.example/x.png)",
    '```"><img/src=x/onerror=alert(1)>\ncode\n```',
    "```html\n</code></pre><script>alert(1)</script>\n```",
    '<a href="https://example.org" style="position:fixed" onclick="alert(1)">x</a>',
    "<iframe src=https://evil.example></iframe><form action=/accounts/logout/ method=post><button>x</button></form>",
    "| a |\n|:-:|\n| <img src=x onerror=alert(1)> |",
]
EDIT_BUTTON = ("button", {"class": "plain edit", "type": "button", "data-edit": None})
EDIT_ICON = {"aria-hidden": "true", "viewbox": "0 0 24 24"}
HARMFUL_TAGS = {
    "script",
    "img",
    "iframe",
    "form",
    "button",
    "object",
    "embed",
    "style",
    "base",
    "link",
}


class Tags(HTMLParser):
    """Parses HTML into its tags with attributes and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def event_html(
    *parts: dict[str, Any],
    view: SessionView = VIEW,
    author: str = "help_desk",
    actions: dict[str, Any] | None = None,
    **body: Any,
) -> str:
    content = {"content": {"role": "user" if author == "user" else "model", "parts": parts}} if parts else {}
    given = {
        "id": "id-7",
        "invocationId": "e-1",
        "author": author,
        "timestamp": 1.5,
        "actions": actions or {},
        **content,
        **body,
    }
    return render_event(view, 7, Event.model_validate(given))


def assert_harmless(html: str) -> None:
    for tag, attributes in Tags(html).found:
        assert tag not in HARMFUL_TAGS or (tag, attributes) == EDIT_BUTTON
        assert tag != "svg" or attributes == EDIT_ICON
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        href = attributes.get("href") or ""
        assert href.startswith(("https://", "http://", "mailto:", "/")) or not href


def request_html(args: dict[str, Any], author: str = "help_desk") -> str:
    """Return the HTML of a request for approval as the engine makes it."""
    call = {"id": "r1", "name": "adk_request_confirmation", "args": args}
    return event_html({"functionCall": call}, author=author, longRunningToolIds=["r1"])
