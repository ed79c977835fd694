"""Masking of secrets: values under the name of a secret, and texts that look like a secret. The only place with rules.

`ADK["masked_keys"]` and `ADK["masked_patterns"]` define secrets. Nothing is changed in the database: secrets are masked
on pages of staff, in exports and in logs.

Three kinds of secrets are found: a value behind a masked name, in JSON, code, a query string or HTML; a match of a
pattern; and the number of a payment card, by its check digit. Texts may come from anybody, so the regular expressions
of this module stay linear in the length of a text, by bounds and possessive quantifiers.
"""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from runtime.events.calls import REQUEST_CREDENTIAL
from sessions_app.conf import conf

MASK = "[masked]"
_is_unmasked: ContextVar[bool] = ContextVar("is_unmasked", default=False)

_QUOTE = r"(?:\\?[\"']|&quot;|&\#x27;)?"
_VERB = r"\s{1,4}(?:is|was)(?:\s{0,4}[=:]|(?=\s{1,4}(?=\S{6})[^\s\d]{0,32}+\d))"
"""A verb before a value in a sentence. Without a colon, the value has a digit: "the password is wrong" is prose."""
_NAME = re.compile(
    rf"(?<![\w-])(?:([\w-]{{1,64}}+) )?([\w-]{{1,64}}+){_QUOTE}(?:\s{{0,4}}[=:]|{_VERB})\s{{0,4}}{_QUOTE}"
)
"""One or two words before a value, in code, JSON, a query string, HTML or a sentence: `api_key=`, `API key: `.

The bound of 64 keeps the search linear.
"""
_NAMED_VALUE = re.compile(
    r"""(?<=")[^"\\\n]+|(?<=')[^'\\\n]+|(?<=&quot;)(?:(?!&quot;).)+|(?<=&\#x27;)(?:(?!&\#x27;).)+|[^\s"'\\&,;)}<]+"""
)
"""A value: after an opening quote up to the closing quote, otherwise up to a space or a separator."""
_HYPHENATED = r"(?:-\d++)*+(?![\w-])"
_DIGITS = re.compile(rf"[2-6](?<![\w.+-].)\d*+{_HYPHENATED}(?: \d++{_HYPHENATED})*+")
"""Groups of digits, separated by a space or a hyphen. No hyphen joins them to a word."""
_GROUP = re.compile(r"\d+")
_MAX_GROUPS = 6
_CARD = re.compile(r"(?=\d{13,19}$)(?:4|5[1-5]|2[2-7]|3[0-8]|6[0245])")
_LEXEME = re.compile(
    r'"(?:[^"\\]|\\.)*"\s*:\s*|"(?:[^"\\]|\\.)*"?|[^\s,:\[\]{}"]+|[\[\]{}]|[,:\s]+', re.DOTALL
)
"""A name with its colon, a text, another value, a bracket, or the separators between them."""
_ERROR_NAMES = ("Error", "Exception", "Warning")
"""Ends of names before a message, such as `DefaultCredentialsError: Your default credentials were not found.`"""
_PLACEHOLDERS = ("", "…", "None", "True", "False")
"""Values in code and advice that are no secrets, without full stops: `Gemini(api_key=...)` leaves nothing."""
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CONTINUATION = "    "
"""Beginning of each further line of a record in plain logs."""
_EMPTY = ("null", "true", "false", '""')
"""Values revealing only whether there is a secret."""
_PIECES = re.compile(r"(<(?:script|style|textarea)\b[^<]*+</(?:script|style|textarea)>|<[^<>]*+>)")
"""A tag, or an element whose content is no text. No match reaches over another raw `<`: the search stays linear.

Pages escape each `<` in such an element: with a raw `<`, the content would be masked as text of the page.
"""
MAX_CACHED_NAME = 100
"""Largest length of a member's name for the cache of masked names."""
LOOK_AHEAD = 1_000
"""Number of characters on each side of a cut to search for a secret across the cut."""
_SEAM = "\n\x00\n"
"""Separator of pieces of text, to keep patterns from matching across pieces."""


@contextmanager
def masking() -> Iterator[None]:
    """Mask in this block, until `unmask` is called in it."""
    token = _is_unmasked.set(False)
    try:
        yield
    finally:
        _is_unmasked.reset(token)


def unmask() -> None:
    """Show stored values, until the end of the surrounding `masking`."""
    _is_unmasked.set(True)


def is_unmasked() -> bool:
    """Return True if values are shown as they are stored."""
    return _is_unmasked.get()


def mask_text(text: str) -> str:
    """Return the text with masks for values behind names of secrets, and for texts that look like secrets."""
    if _is_unmasked.get():
        return text
    for pattern in conf().masked_patterns:
        text = pattern.sub(_mask_groups, text)
    if _may_name_secrets(text):
        text = _mask_named(text)
    return _DIGITS.sub(_mask_cards, text)


def beginning_of(text: str, length: int) -> str:
    """Return at most `length` characters of a text; a secret at the end is left out rather than cut."""
    # A part of a secret does not look like a secret, so nothing would mask it later.
    if len(text) <= length:
        return text
    start = max(0, length - LOOK_AHEAD)
    end = length
    with masking():
        # Shorten until masking gives the same with and without the rest: then no secret reaches over the cut.
        masked = mask_text(text[start : length + LOOK_AHEAD])
        while not masked.startswith(mask_text(text[start:end])):
            end -= 1
    return text[:end]


def shortened(text: str, length: int) -> str:
    """Return the text, or its beginning by `beginning_of` and an ellipsis."""
    if len(text) <= length:
        return text
    return f"{beginning_of(text, length)}…"


def mask(value: Any) -> Any:
    """Return the JSON value with its texts masked, with names of members."""
    if isinstance(value, str):
        return mask_text(value)
    return value if _is_unmasked.get() else _mask_members(value, mask)


def mask_keys(value: Any) -> Any:
    """Return the JSON value with only values under masked keys masked, for the person who wrote the texts.

    The response to a credential request is masked whole, except the mark of a given credential.
    """
    return _mask_members(value, mask_keys)


def mask_json(text: str) -> str:
    """Return JSON text, which may end anywhere, masked as by `mask`. Nothing else changes, not even a digit."""
    # `mask_text` finds names before values in JSON, too: an unchanged text has no secret.
    if mask_text(text) == text:
        return text
    return "".join(_masked_lexemes(_LEXEME.findall(text)))


def mask_member(key: str, text: str) -> str:
    """Return the JSON text of the value under a key, masked."""
    is_hidden = not _is_unmasked.get() and _names_secret(key, conf().masked_keys)
    if is_hidden and text not in _EMPTY:
        return MASK
    return mask_json(text)


def mask_html(html: str) -> str:
    """Return a finished page with its texts masked, outside of tags, scripts and fields of forms."""
    # For templates that show a stored text without a function of this module.
    if _is_unmasked.get():
        return html
    pieces = _PIECES.split(html)
    joined = _SEAM.join(pieces[::2])
    masked = mask_text(joined)
    if masked == joined:
        return html
    texts = masked.split(_SEAM)
    # A match across a seam has replaced the seam, too: then each piece is masked alone.
    if len(texts) == len(pieces[::2]):
        pieces[::2] = texts
    else:
        pieces[::2] = map(mask_text, pieces[::2])
    return "".join(pieces)


class MaskingFormatter(logging.Formatter):
    """Formatter of logs with masks in the message and the traceback.

    Only the first line of a record begins at the margin, and control characters are escaped: the text of an exception
    can neither pass for another record nor move the cursor of a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        with masking():
            text = mask_text(super().format(record))
        shown = _CONTROL_CHARACTER.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))
        return shown.replace("\n", f"\n{_CONTINUATION}")


def _mask_groups(found: re.Match[str]) -> str:
    """Return the match with its groups masked; the mask alone for a pattern without groups."""
    spans = [found.span(number) for number, group in enumerate(found.groups(), 1) if group is not None]
    if not found.re.groups:
        return MASK
    text = found[0]
    start = found.start()
    for first, end in reversed(spans):
        text = text[: first - start] + MASK + text[end - start :]
    return text


def _may_name_secrets(text: str) -> bool:
    """Return True if the text has a word of a masked key."""
    # Most texts have no such word, and are spared the slower search for names.
    plain = _normalized(text)
    without_spaces = plain.replace(" ", "")  # "API key" is the name of a secret, too
    beginnings, words = _words(conf().masked_keys)
    if any(beginning in without_spaces for beginning in beginnings):
        return True
    return any(word.search(plain) for word in words)


@lru_cache(maxsize=8)
def _words(keys: tuple[str, ...]) -> tuple[list[str], list[re.Pattern[str]]]:
    """Return the longest word of each key: as a text if the key ends with `*`, else as a pattern with its end."""
    beginnings = []
    words = []
    for key in keys:
        word = max(_normalized(key).split("*"), key=len)
        if key.endswith("*"):
            beginnings.append(word)
        else:
            words.append(re.compile(f"{re.escape(word)}(?![a-z0-9])"))
    return beginnings, words


@lru_cache(maxsize=10_000)
def _names_secret(key: str, keys: tuple[str, ...]) -> bool:
    name = _normalized(key[:200].rpartition(":")[2])  # The rest is the scope of a key of the state.
    return any(re.fullmatch(_glob(pattern), name) for pattern in keys)


@lru_cache(maxsize=1_000)
def _glob(pattern: str) -> str:
    return re.escape(_normalized(pattern)).replace(r"\*", ".*")


def _normalized(key: str) -> str:
    """Return a key for comparisons: `api_key`, `apiKey` and `API-Key` are equal."""
    return key.replace("_", "").replace("-", "").lower()


def _names_secret_in_text(before: str | None, name: str) -> bool:
    """Return True for the name of a secret, alone or with the word before it as in "API key"."""
    keys = conf().masked_keys
    if _names_secret(name, keys):
        return True
    # "secret sauce" names no secret: a word that is a secret's name has its value behind itself.
    return before is not None and not _names_secret(before, keys) and _names_secret(f"{before}_{name}", keys)


def _is_secret(key: str, value: Any) -> bool:
    reveals_nothing = value is None or value == "" or isinstance(value, bool)
    return not reveals_nothing and _names_secret(key, conf().masked_keys)


def _mask_members(value: Any, mask_value: Any) -> Any:
    if isinstance(value, list):
        return [mask_value(item) for item in value]
    if not isinstance(value, dict):
        return _mask_number(value) if mask_value is mask else value
    if value.get("name") == REQUEST_CREDENTIAL and "response" in value:
        value = {**value, "response": {"result": MASK, **_given_mark(value["response"])}}
    masks_names = mask_value is mask
    masked: dict[str, Any] = {}
    for key, item in value.items():
        name = _masked_name(key) if masks_names else key
        while name in masked:  # Two masked names would be the same key.
            name = f"{name} {len(masked)}"
        masked[name] = MASK if _is_secret(key, item) else mask_value(item)
    return masked


def _masked_name(name: str) -> str:
    if len(name) > MAX_CACHED_NAME:
        return mask_text(name)
    site = conf()
    return _cached_name(name, site.masked_keys, site.masked_patterns)


@lru_cache(maxsize=10_000)
def _cached_name(name: str, keys: tuple[str, ...], patterns: tuple[re.Pattern[str], ...]) -> str:
    # Cached, because names repeat. Keys and patterns only distinguish the entries of the cache.
    return mask_text(name)


def _given_mark(response: Any) -> dict[str, bool]:
    if isinstance(response, dict) and isinstance(response.get("given"), bool):
        return {"given": response["given"]}
    return {}


def _mask_number(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number and abs(value) < 10**20 and _is_card(str(value)):
        return MASK
    return value


def _mask_named(text: str) -> str:
    """Return the text with the values behind names of secrets masked, such as `password=...`."""
    pieces = []
    end = 0
    for found in _NAME.finditer(text):
        before, name = found.groups()
        if found.end() < end or name.endswith(_ERROR_NAMES) or not _names_secret_in_text(before, name):
            continue
        value = _NAMED_VALUE.match(text, found.end())
        if value and value[0].rstrip(".") not in _PLACEHOLDERS:
            pieces += [text[end : found.end()], MASK]
            end = value.end()
    return "".join([*pieces, text[end:]])


def _mask_cards(found: re.Match[str]) -> str:
    """Return the groups of digits with the numbers of cards masked; overlapping numbers become a single mask."""
    text = found[0]
    pieces = []
    masked_to = 0
    for start, end in _cards(text):
        if start >= masked_to:
            pieces += [text[masked_to:start], MASK]
        masked_to = max(end, masked_to)
    return "".join([*pieces, text[masked_to:]])


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each card number, a run of whole groups next to any other groups."""
    groups = list(_GROUP.finditer(text))
    for first, start in enumerate(groups):
        digits = ""
        for end in groups[first : first + _MAX_GROUPS]:
            digits += end[0]
            if len(digits) > 12 and _is_card(digits):
                yield start.start(), end.end()


def _is_card(digits: str) -> bool:
    """Return True for the number of a payment card, by length and check digit (ISO/IEC 7812-1, the Luhn formula)."""
    if not _CARD.match(digits):
        return False
    total = sum(map(int, digits[::-2]))
    for digit in digits[-2::-2]:
        # The sum of the digits of twice the digit.
        total += sum(divmod(2 * int(digit), 10))
    return total % 10 == 0


def _masked_lexemes(lexemes: list[str]) -> Iterator[str]:
    """Yield the lexemes of a JSON text; the value behind the name of a secret becomes a single lexeme."""
    # Not `json.loads`: the text may be cut off, and numbers must keep their digits.
    hides_next = False
    depth = 0
    for lexeme in lexemes:
        if depth:
            depth += (lexeme in "{[") - (lexeme in "}]")
        elif hides_next:
            hides_next = False
            depth = int(lexeme in "{[")
            yield lexeme if lexeme in _EMPTY else f'"{MASK}"'
        elif lexeme.startswith('"') and lexeme.rstrip().endswith(":"):
            end = lexeme.rindex('"') + 1
            hides_next = _names_secret(lexeme[1 : end - 1], conf().masked_keys)
            yield _mask_lexeme(lexeme[:end]) + lexeme[end:]
        else:
            yield _mask_lexeme(lexeme)


def _mask_lexeme(lexeme: str) -> str:
    """Return a text or number of a JSON text masked; the last lexeme may be cut off."""
    if len(lexeme) < 2 or not lexeme.startswith('"'):
        return lexeme if mask_text(lexeme) == lexeme else f'"{MASK}"'
    try:
        text = json.loads(lexeme)
    except ValueError:
        return mask_text(lexeme)
    masked = mask_text(text)
    return lexeme if masked == text else json.dumps(masked, ensure_ascii=False)
