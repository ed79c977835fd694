"""Text of a web page for a model: its title, its text, and the addresses of its links.

A page may be hostile, so the time is linear in its length: each construct is read once, to its end. Like a browser, the
reader drops what follows a tag, a comment or a script without an end. Python's own parser would search for the end
of each of them again. Knowledge bases read uploaded pages by `read_file.py`, alone in a restricted process.
"""

import re
from dataclasses import dataclass
from html import unescape
from urllib.parse import urldefrag, urljoin

MAX_TITLE_LENGTH = 300
MAX_LINKS = 100
MAX_ADDRESS_LENGTH = 2_000
"""Characters of a reference and of the address that it begins from."""
MAX_REFERENCES = 5_000
"""References of a page that are read: joining one with a long address takes 50 µs."""
_SKIPPED = frozenset({"noscript", "svg", "template"})
_RAW_ENDS = {
    "script": re.compile("</script", re.IGNORECASE),
    "style": re.compile("</style", re.IGNORECASE),
    "textarea": re.compile("</textarea", re.IGNORECASE),
    "title": re.compile("</title", re.IGNORECASE),
}
"""Ends of the elements whose contents have no tags."""
_IN_LINE = frozenset(
    "a abbr b bdi bdo cite code em font i img kbd label mark q s small span strong sub sup time u var wbr".split()
)
_CELLS = frozenset({"td", "th"})
# Signs of the reader until the lines are made: spaces and bars that the page wrote itself stay.
_KEPT_SPACE = "\u00a0"
_CELL = "\x1f"
_MARKUP = re.compile(r"<(?:[!?]|/?[a-zA-Z])")
_TAG = re.compile(r"</?([a-zA-Z][^\s/>]*+)")
_ATTRIBUTES = re.compile(r"""(?:[^"'>]|"[^"]*+"|'[^']*+')*+""")
_HREF = re.compile(r"""(?:^|[\s"'/])href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE)
_PAGE = re.compile(r"https?://[^\s<>\"\\]+", re.IGNORECASE)


@dataclass(frozen=True)
class PageText:
    """What a person can read on a page.

    Attributes:
        title: the page's title; empty if it has none.
        text: a line for each paragraph, heading and row of a table.
        links: titles of links by their addresses, without those to the page itself.
    """

    title: str
    text: str
    links: dict[str, str]


def read_page(html: str, url: str) -> PageText:
    """Return the text of a page with this address."""
    reader = _Reader(html, url)
    reader.read()
    text = re.sub(" {2,}", " ", "".join(reader.pieces))
    lines = (line.strip(f" {_CELL}") for line in text.split("\n"))
    text = "\n".join(filter(None, lines)).replace(_KEPT_SPACE, " ").replace(_CELL, "|")
    return PageText(reader.title, text, reader.links)


class _Reader:
    def __init__(self, html: str, url: str) -> None:
        self.title = ""
        self.pieces: list[str] = []
        self.links: dict[str, str] = {}
        self._html = html
        self._own_url = urldefrag(url).url
        self._base = url
        self._href = ""
        self._link_begin = 0
        self._references = 0
        self._skipped = 0
        self._preformatted = 0

    def read(self) -> None:
        position = 0
        while position >= 0:
            found = _MARKUP.search(self._html, position)
            begin = found.start() if found else len(self._html)
            self._add_text(self._html[position:begin])
            position = self._read_markup(begin)
        self._end_link()

    def _read_markup(self, begin: int) -> int:
        """Read the tag or comment at the position; return the position behind it, and -1 at the end of the page."""
        if self._html.startswith("<!--", begin):
            return self._behind("-->", begin)
        if self._html.startswith(("<!", "<?"), begin):
            return self._behind(">", begin)
        tag = _TAG.match(self._html, begin)
        if tag is None:
            return -1
        attributes = _ATTRIBUTES.match(self._html, tag.end())
        end = attributes.end() if attributes else tag.end()
        if not self._html.startswith(">", end):
            end = self._html.find(">", end)  # A quotation mark has no partner.
        if end < 0:
            return -1
        name = tag[1].lower()
        is_begin = self._html[begin + 1] != "/"
        if is_begin and name in _RAW_ENDS:
            return self._read_raw(name, end + 1)
        self._read_tag(name, self._html[tag.end() : end], is_begin=is_begin)
        return end + 1

    def _behind(self, mark: str, begin: int) -> int:
        end = self._html.find(mark, begin)
        return end + len(mark) if end >= 0 else -1

    def _read_raw(self, name: str, begin: int) -> int:
        """Read an element without tags; return the position of its end tag."""
        end = _RAW_ENDS[name].search(self._html, begin)
        if end is None:
            return -1
        if name == "title" and not self.title and not self._skipped:
            self.title = _one_line(unescape(self._html[begin : end.start()]))
        return end.start()

    def _read_tag(self, name: str, attributes: str, *, is_begin: bool) -> None:
        change = 1 if is_begin else -1
        if name in _SKIPPED:
            self._skipped = max(0, self._skipped + change)
        elif name == "pre":
            self._preformatted = max(0, self._preformatted + change)
        elif name == "base" and is_begin:
            self._base = self._address(_href_in(attributes)) or self._base
        elif name == "a":
            self._end_link()
            if is_begin:
                self._href = _href_in(attributes)
                self._link_begin = len(self.pieces)
        if name in _CELLS:
            self.pieces.append(f" {_CELL} ")
        elif name not in _IN_LINE:
            self.pieces.append("\n")

    def _add_text(self, text: str) -> None:
        if not self._skipped:
            text = unescape(text)
            if self._preformatted:
                text = text.replace(" ", _KEPT_SPACE)
            else:
                text = re.sub(r"\s+", " ", text)
            self.pieces.append(text)

    def _end_link(self) -> None:
        """Note the link that has ended, if it leads to another page and has a text."""
        if not self._href or len(self.links) >= MAX_LINKS:
            return
        title = _one_line("".join(self.pieces[self._link_begin :]))
        address = self._address(self._href)
        self._href = ""
        if title and address and address != self._own_url:
            self.links.setdefault(address, title)

    def _address(self, href: str) -> str:
        """Return the address of the page that the reference leads to; empty if it leads to none."""
        self._references += 1
        if self._references > MAX_REFERENCES or len(self._base) + len(href) > MAX_ADDRESS_LENGTH:
            return ""
        try:
            address = urldefrag(urljoin(self._base, href)).url
        except ValueError:
            return ""
        return address if _PAGE.fullmatch(address) else ""


def _href_in(attributes: str) -> str:
    href = _HREF.search(attributes)
    return unescape(href[href.lastindex or 1]).strip() if href else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())[:MAX_TITLE_LENGTH]
