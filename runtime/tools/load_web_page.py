"""The tool `load_web_page`: reads a web page (contract T9).

A model names the address, and may have it from anybody: internal addresses are refused, also behind redirects, and
time and size are limited. The page is a source of the answer.
"""

import re

from runtime.tools.openapi_tool.http_exchange import (
    ExchangeError,
    ForbiddenHostError,
    HttpAnswer,
    HttpExchange,
    HttpRequest,
)
from runtime.tools.page_text import PageText, read_page
from runtime.tools.sources import add_page, finds_sources
from runtime.tools.tool_context import ToolContext
from runtime.tools.tool_threads import run_in_tool_thread

MAX_BYTES = 2_000_000
MAX_CHARACTERS = 50_000
"""Characters that the model gets."""
MAX_LINK_CHARACTERS = 10_000
TIMEOUT = 30.0
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml|javascript|yaml)\b")
# Python has decoders whose time grows with the square of the length: no page is written in these.
_CHARSET = re.compile(
    r"charset\s*=\s*[\"']?((?:utf|us-ascii|iso|latin|windows|cp|koi8|shift|s?jis|euc|gb|big5|mac|tis)[\w.:-]*)",
    re.IGNORECASE,
)
_EXCHANGE = HttpExchange(timeout=TIMEOUT, max_response_bytes=MAX_BYTES, follows_everywhere=True)
_CUT = "\n\n(The page is longer: this is its beginning.)"
_HEADERS = {"Accept": "text/html, text/*;q=0.8, application/json;q=0.8, */*;q=0.1"}


@finds_sources
async def load_web_page(  # the docstring is sent to the model
    url: str, tool_context: ToolContext | None = None
) -> str | dict[str, str]:
    """Read a web page: its title, its text, and the addresses of its links.

    Args:
        url: The address of the page, with https:// or http://.
    """
    if not url.lower().startswith(("https://", "http://")):
        return _failure(url, "The address must begin with https:// or http://.")
    try:
        answer = await _EXCHANGE.send(HttpRequest("GET", url, _HEADERS))
    except ForbiddenHostError:
        return _failure(url, "Its host is in an internal network, which this tool does not reach.")
    except ExchangeError as error:
        return _failure(url, str(error))
    if not 200 <= answer.status < 300:
        return _failure(url, f"The server answered with the status {answer.status}.")
    kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    if kind in _PAGES:
        page = await run_in_tool_thread(read_page, html=_decode_body(answer, is_page=True), url=answer.url)
    elif _TEXTS.match(kind):
        page = PageText(title="", text=_decode_body(answer, is_page=False), links={})
    else:
        return _failure(url, f"It is a file of the type {kind}, which this tool does not read.")
    if tool_context is not None:
        add_page(tool_context, page.title or answer.url, answer.url)
    return _format_page(page, is_cut=answer.is_cut)


def _failure(url: str, reason: str) -> dict[str, str]:
    return {"error": f"The page {url} was not loaded. {reason}"}


def _decode_body(answer: HttpAnswer, *, is_page: bool) -> str:
    """Return the body by the encoding that the server or the page declares, by default as UTF-8."""
    declared = _CHARSET.search(answer.headers.get("content-type", ""))
    if declared is None and is_page:
        declared = _CHARSET.search(answer.body[:2048].decode("ascii", "replace"))
    encoding = declared[1] if declared else "utf-8"
    try:
        return answer.body.decode(encoding, "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")


def _format_page(page: PageText, *, is_cut: bool) -> str:
    """Return the page for the model; of a long page its beginning, and its first links."""
    title = f"Title: {page.title}\n\n" if page.title else ""
    links = _links_of(page)
    text = page.text
    room = MAX_CHARACTERS - len(title) - len(_CUT) - len(links)
    if is_cut or len(text) > room:
        text = text[:room] + _CUT
    return title + text + links


def _links_of(page: PageText) -> str:
    links = ""
    for address, title in page.links.items():
        line = f"\n- {title}: {address}"
        if len(links) + len(line) > MAX_LINK_CHARACTERS:
            break
        links += line
    return f"\n\nLinks:{links}" if links else ""
