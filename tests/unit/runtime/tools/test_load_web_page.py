"""Contract T9: `load_web_page` gives the model what a person reads on a page, and the answer names the page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from runtime import types
from runtime.agents import LlmAgent
from runtime.context import Context
from runtime.events import Event
from runtime.tools import FunctionTool
from runtime.tools.load_web_page import MAX_BYTES, MAX_CHARACTERS, load_web_page
from runtime.tools.openapi_tool import address_guard
from runtime.tools.page_text import read_page
from runtime.tools.sources import add_page, finds_sources
from runtime.tools.tool_context import ToolContext
from tests.echo_server import EchoServer, Reply
from tests.fakes import ScriptedModel, call
from tests.unit.runtime.conversation import Conversation

HTML = {"Content-Type": "text/html"}
PAGE = """<!doctype html><title>Opening
 hours</title><style>p { color: red }</style>
<h1>We are <b>open</b></h1><script>track("you")</script>
<p>Call  us &amp; come.<p>No end tag
<table><tr><th>Day<th>Hours<tr><td>Monday<td>9 to 5</table>
<pre>a = 1
  b = 2</pre>
<svg><title>A clock</title><text>12</text></svg>
<a href="/map?at=1#top">The <i>map</i></a> <a href="mailto:a@b.example">Mail</a> <a href="#end">End</a>
<a href="https://friends.example/">Friends</a> <a href="https://friends.example/">Again</a> <a href="/x"></a>
<a href="https://[broken">Broken</a>"""
READ = """Title: Opening hours

We are open
Call us & come.
No end tag
Day | Hours
Monday | 9 to 5
a = 1
  b = 2
The map Mail End Friends Again Broken

Links:
- The map: {url}/map?at=1
- Friends: https://friends.example/"""


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with EchoServer() as started:
        yield started


@pytest.fixture
def public(server: EchoServer, monkeypatch: pytest.MonkeyPatch) -> EchoServer:
    """The server, as if its address were one of the internet."""
    monkeypatch.setattr(address_guard, "is_internal", lambda _: False)
    return server


async def loaded(server: EchoServer, body: str | bytes, *, status: int = 200, kind: str = "text/html") -> Any:
    data = body.encode() if isinstance(body, str) else body
    server.routes["/page"] = lambda _: Reply(status, data, {"Content-Type": kind})
    return await load_web_page(f"{server.url}/page")


async def test_a_page_is_its_title_its_text_and_its_links(public: EchoServer) -> None:
    assert await loaded(public, PAGE) == READ.replace("{url}", public.url)


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("plain\ntext", "text/plain", "plain\ntext"),
        ('{"a": 1}', "application/problem+json; charset=utf-8", '{"a": 1}'),
        ("<p>Grüße".encode("latin-1"), "text/html; charset=ISO-8859-1", "Grüße"),
        ('<meta charset="shift_jis"><p>東京'.encode("shift_jis"), "text/html", "東京"),
        ('<meta charset="no-such-thing"><p>Grüße', "text/html", "Grüße"),
        ("<meta charset=punycode><p>a-b", "text/html", "a-b"),
        ("<meta charset=utf-nothing><p>a-b", "text/html", "a-b"),
        ("charset=latin-1 Grüße", "text/plain", "charset=latin-1 Grüße"),
        ("", "text/html", ""),
        ('<base href="/below/"><a href="x">X', "text/html", "X\n\nLinks:\n- X: {url}/below/x"),
    ],
)
async def test_a_text_is_read_in_its_encoding(
    public: EchoServer, body: str | bytes, kind: str, text: str
) -> None:
    assert await loaded(public, body, kind=kind) == text.replace("{url}", public.url)


async def test_of_a_long_page_the_model_gets_the_beginning(public: EchoServer) -> None:
    note = "(The page is longer: this is its beginning.)"
    for length in (MAX_CHARACTERS + 1, MAX_BYTES + 1):
        text = await loaded(public, "<title>Long</title><p>" + "x" * length)
        assert text.startswith("Title: Long\n\nxxx") and text.endswith(f"xxx\n\n{note}")
        assert len(text) == MAX_CHARACTERS
    links = "".join(f'<a href="/{number}{"y" * 1_000}">{"z" * 1_000}</a>' for number in range(100))
    text = await loaded(public, links)
    assert note in text and "Links:\n- zzz" in text and len(text) <= MAX_CHARACTERS
    assert await loaded(public, f'<a href="/{"y" * (MAX_BYTES - 100)}">Far</a>') == "Far"
    many = "".join(f'<a href="/{number}">{number}</a>' for number in range(500))
    assert (await loaded(public, many)).count("\n- ") == 100


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (404, "text/html", "The server answered with the status 404."),
        (500, "text/html", "The server answered with the status 500."),
        (200, "application/pdf", "It is a file of the type application/pdf, which this tool does not read."),
    ],
)
async def test_the_model_is_told_why_a_page_was_not_loaded(
    public: EchoServer, status: int, kind: str, reason: str
) -> None:
    result = await loaded(public, "No.", status=status, kind=kind)
    assert result == {"error": f"The page {public.url}/page was not loaded. {reason}"}


@pytest.mark.parametrize("url", ["example.org", "file:///etc/passwd", "", "ftp://example.org/"])
async def test_only_addresses_of_the_web_are_loaded(url: str) -> None:
    result = await load_web_page(url)
    assert isinstance(result, dict) and "must begin with https://" in result["error"]


@pytest.mark.parametrize(
    "url", ["http://[", "https://a]b/", "https://example.org:x/", "https://example.org/\ud800"]
)
async def test_an_address_that_cannot_be_read_is_an_error_for_the_model(url: str) -> None:
    result = await load_web_page(url)
    assert isinstance(result, dict) and "was not loaded" in result["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_an_internal_page_is_not_loaded(server: EchoServer, host: str) -> None:
    result = await load_web_page(f"http://{host}:{server.port}/page")
    assert isinstance(result, dict)
    assert result["error"].endswith("Its host is in an internal network, which this tool does not reach.")
    assert server.received == []


async def test_redirects_to_other_servers_are_followed_and_checked(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, False, False, True])
    monkeypatch.setattr(address_guard, "is_internal", lambda _: next(answers))
    with EchoServer() as other:
        other.routes["/here"] = lambda _: Reply(body=b'<title>Here</title><a href="x">X</a>', headers=HTML)
        server.routes["/page"] = lambda _: Reply(301, b"", {"Location": f"{other.url}/here"})
        for expected in (f"Title: Here\n\nX\n\nLinks:\n- X: {other.url}/x", "internal network"):
            assert expected in str(await load_web_page(f"{server.url}/page")).replace("\\n", "\n")
        assert len(server.received) == 2 and len(other.received) == 1


PIECES = [
    "<!--",
    "<!",
    "<",
    "</",
    "<a",
    "<a '",
    '<a href="',
    "<a href=x>",
    "href  ",
    "<script>",
    "<title>",
    "<svg>",
    "&",
    "&am",
    "<td>",
    "<base",
    '<base href="x/">',
    f'<base href="/{"x/" * 200_000}">' + "<a href=y>z" * 10_000,
    f'<base href="/{"x/" * 900}">' + "<a href=y>z" * 20_000,
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_hostile_page_takes_linear_time(piece: str) -> None:
    begin = time.process_time()
    read_page("<p>Hello" + piece * (MAX_BYTES // len(piece)), "https://a.example/")
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("Hello <!-- never said", "Hello"),
        ("Hello <!-- > - --> Ada<!doctype x>", "Hello Ada"),
        ("Hello <script>x</p>Ada", "Hello"),
        ("Hello <SCRIPT>x</sCript > Ada", "Hello\nAda"),
        ("Hello <p title='>' class=it's>Ada", "Hello\nAda"),
        ("1 < 2 <3 </ 4", "1 < 2 <3 </ 4"),
        ("Hello <p", "Hello"),
        ("&lt;b&gt; &copy;&#8364;&#0;&nosuch;", "<b> ©€\ufffd&nosuch;"),
        ("<pre>cat a |\n| b\n|</pre>", "cat a |\n| b\n|"),
        ("<td><td>| 1 <td>2 |<td>", "| 1 | 2 |"),
        ("<template>No</template><noscript>No</noscript></svg>Yes", "Yes"),
    ],
)
def test_broken_markup_is_read_as_browsers_read_it(html: str, text: str) -> None:
    assert read_page(html, "https://a.example/").text == text


def sources(event: Event) -> list[tuple[str, str]]:
    chunks = (event.grounding_metadata and event.grounding_metadata.grounding_chunks) or []
    return [(chunk.web.title or "", chunk.web.uri or "") for chunk in chunks if chunk.web]


async def test_the_answer_names_the_pages_that_were_loaded(public: EchoServer) -> None:
    """Each page once, by the address that answered; neither a page that failed nor pages of an earlier answer."""
    public.routes["/hours"] = lambda _: Reply(body=b"<title>Hours</title>9 to 5", headers=HTML)
    public.routes["/old"] = lambda _: Reply(301, b"", {"Location": "/hours"})
    public.routes["/plain"] = lambda _: Reply(body=b"Text", headers={"Content-Type": "text/plain"})
    public.routes["/gone"] = lambda _: Reply(410, b"Gone")
    paths = ["/hours", "/old", "/gone", "/plain"]
    asked = [call("load_web_page", url=f"{public.url}{path}") for path in paths]
    model = ScriptedModel(turns=[asked, "From nine to five.", "You are welcome."])
    chat = Conversation(LlmAgent(name="clerk", model=model, tools=[load_web_page]))
    [*_, answer] = await chat.say("When are you open?")
    plain = f"{public.url}/plain"
    assert sorted(sources(answer)) == [("Hours", f"{public.url}/hours"), (plain, plain)]
    [thanks] = await chat.say("Thank you")
    assert sources(thanks) == []


async def test_calls_that_end_in_another_order_lose_no_source() -> None:
    has_found = asyncio.Event()

    @finds_sources
    async def slow(tool_context: ToolContext) -> str:
        await has_found.wait()
        add_page(tool_context, "Slow", "https://slow.example")
        return "read"

    @finds_sources
    async def fast(tool_context: ToolContext) -> str:
        add_page(tool_context, "Fast", "https://fast.example")
        has_found.set()
        return "read"

    turns = [[call("slow"), call("fast")], "First.", [call("fast"), call("slow")], "Second."]
    model = ScriptedModel(turns=turns)
    chat = Conversation(LlmAgent(name="clerk", model=model, tools=[slow, fast]))
    found = [("Fast", "https://fast.example"), ("Slow", "https://slow.example")]
    for _ in range(2):
        [*_, answer] = await chat.say("Look it up")
        assert sorted(sources(answer)) == found


async def test_a_source_that_is_found_later_is_none_of_an_earlier_answer() -> None:
    @finds_sources
    def find(title: str, tool_context: ToolContext) -> str:
        add_page(tool_context, title, f"https://{title}.example")
        return "read"

    look_again = [types.Part(text="One moment."), call("find", title="second")]
    model = ScriptedModel(turns=[[call("find", title="first")], look_again, "Here."])
    chat = Conversation(LlmAgent(name="clerk", model=model, tools=[find]))
    events = await chat.say("Look it up")
    told = [event for event in events if event.text()]
    assert [len(sources(event)) for event in told] == [1, 2]


async def test_the_tool_declares_the_address_only(context: Context) -> None:
    declared = FunctionTool(load_web_page)._get_declaration()
    assert declared.parameters is not None and declared.parameters.properties is not None
    assert list(declared.parameters.properties) == declared.parameters.required == ["url"]
    result = await FunctionTool(load_web_page).run_async(args={}, tool_context=context)
    assert "url" in result["error"]
