"""Regular expressions of the product take linear time for any text: models, people and servers write what they search.

For each pattern, texts are made from its own parts: a piece that almost matches, again and again. A pattern that tries
each way to divide such a text, or goes far from each of its characters, takes the square of the time.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _constants as op
from re import _parser
from typing import Any

import pytest

import adk_site
import runtime
import sessions_app

PACKAGES = (runtime, sessions_app, adk_site)
SCRIPTS = Path(sessions_app.__path__[0]) / "static" / "sessions_app"
_PIECE = r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)+\])"
SCRIPT_PATTERN = re.compile(rf"(?:[=(,?:&|]|return) ?/(?P<pattern>(?!\*){_PIECE}+)/[dgimsuvy]*(?=[.,;) ])")
"""A regular expression of JavaScript, where an expression begins."""
LENGTH = 500
GROWTH = 8
MOST_GROWTH = 30
"""Between `GROWTH`, for linear time, and its square."""
UNMEASURED_SECONDS = 0.02
SEARCHES = {"sub", "subn", "search", "findall", "finditer", "split"}
WHOLE = {"match", "fullmatch"}
METHODS = SEARCHES | WHOLE | {"compile"}
MADE_AT_RUN_TIME = {
    ("runtime/engine/human_input/inputs.py", "of the author's schemas, if pydantic cannot read them"),
    ("runtime/models/registry.py", "of the author's model classes"),
    ("sessions_app/management/explanation.py", "for lines of the author's docstrings"),
    ("sessions_app/rendering/sentences.py", "for sentences up to a length"),
    ("sessions_app/secrets/masking.py", "names of keys in the operator's settings"),
    ("sessions_app/sessions/list/search.py", "words alone"),
    ("sessions_app/rendering/call_words.py", "of constants, for the first word of a tool's name"),
    ("adk_site/demo/model.py", "of constants, for the demo"),
}
"""Files with patterns that are made in functions, and of what."""


@cache
def sources() -> dict[str, ast.Module]:
    """Return the modules that call a method of patterns, by file."""
    found = {}
    for package in PACKAGES:
        root = Path(package.__path__[0])
        for path in root.rglob("*.py"):
            text = path.read_text()
            if "migrations" not in path.parts and re.search(rf"\.(?:{'|'.join(METHODS)})\(", text):
                found[str(path.relative_to(root.parent))] = ast.parse(text)
    return found


@cache
def uses() -> dict[str, set[str]]:
    """Return the methods that are called on each name."""
    found: dict[str, set[str]] = defaultdict(set)
    for tree in sources().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in SEARCHES | WHOLE:
                owner = node.value
                found[owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")].add(node.attr)
    return found


def of_modules() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    for file, tree in sources().items():
        # Only these are imported: some others take seconds.
        if any(isinstance(node, ast.Import) and node.names[0].name == "re" for node in tree.body):
            module = importlib.import_module(
                file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )
            for name, value in vars(module).items():
                for pattern in value.values() if type(value) is dict else [value]:
                    if isinstance(pattern, re.Pattern):
                        yield f"{file} {name}", pattern, uses().get(name, SEARCHES)


def of_calls() -> Iterator[tuple[str, ast.expr, str]]:
    """Yield the first argument of each `re.sub(…)` and the like within functions, with its place and its method."""
    for file, tree in sources().items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    match node:
                        case ast.Call(
                            func=ast.Attribute(value=ast.Name(id="re"), attr=method), args=[first, *_]
                        ):
                            if method in METHODS:
                                yield file, first, method


def of_scripts() -> Iterator[tuple[str, re.Pattern[str]]]:
    for path in sorted(SCRIPTS.rglob("*.js")):
        if "vendor" not in path.parts:
            for literal in SCRIPT_PATTERN.finditer(path.read_text()):
                # Python has no classes of Unicode such as `\p{L}`.
                yield path.name, re.compile(re.sub(r"\\p\{\w+\}", r"\\w", literal["pattern"]))


def all_patterns() -> dict[re.Pattern[Any], tuple[str, set[str]]]:
    found = {pattern: (name, methods) for name, pattern, methods in of_modules()}
    for file, first, method in of_calls():
        if isinstance(first, ast.Constant):
            found.setdefault(re.compile(first.value), (file, {method}))
    for file, pattern in of_scripts():
        found.setdefault(pattern, (file, SEARCHES))
    return found


def character_of(choices: Any) -> str:
    """Return a character of a class."""
    for character in "a1A -_.:/@=<>\"'\\\n([{é\u202e\ue000\x00":
        if any(_is_in(character, kind, value) for kind, value in choices) != (choices[0][0] is op.NEGATE):
            return character
    first = choices[-1][1]
    return chr(first if isinstance(first, int) else first[0])


def _is_in(character: str, kind: Any, value: Any) -> bool:
    match kind:
        case op.LITERAL:
            return bool(ord(character) == value)
        case op.RANGE:
            return bool(value[0] <= ord(character) <= value[1])
        case op.CATEGORY:
            escape = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(value).rpartition("_")[2]]
            is_of = bool(re.fullmatch(escape, character))
            return is_of != ("_NOT_" in str(value))
    return False


def parts_of(parsed: Any, inner: set[str]) -> list[str]:
    """Return a text for each part of a parsed pattern in order; add those of groups and alternatives to `inner`."""
    parts = []
    for kind, value in parsed:
        match kind:
            case op.LITERAL:
                parts.append(chr(value))
            case op.NOT_LITERAL:
                parts.append("b" if value == ord("a") else "a")
            case op.ANY:
                parts.append("a")
            case op.IN:
                parts.append(character_of(value))
                inner |= {chr(one) for choice, one in value[:20] if choice is op.LITERAL}
            case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
                least, _, repeated = value
                parts.append("".join(parts_of(repeated, inner)) * max(1, min(least, 40)))
            case op.SUBPATTERN | op.ATOMIC_GROUP:
                parts.append("".join(parts_of(value[3] if kind is op.SUBPATTERN else value, inner)))
            case op.ASSERT | op.ASSERT_NOT:
                inner.add("".join(parts_of(value[1], inner)))
            case op.BRANCH:
                alternatives = ["".join(parts_of(alternative, inner)) for alternative in value[1]]
                inner |= set(alternatives)
                parts.append(alternatives[0])
    inner |= set(parts)
    return parts


def hostile_texts(pattern: re.Pattern[Any], length: int) -> Iterator[str]:
    inner: set[str] = set()
    parts = parts_of(_parser.parse(pattern.pattern, pattern.flags), inner)
    whole = "".join(parts)
    runs = {"".join(parts[at : at + size]) for at in range(len(parts)) for size in (2, 3, len(parts))}
    pieces = runs | inner | {f"{piece} " for piece in inner}
    for piece in sorted(filter(None, pieces), key=len)[:100]:
        for beginning in ("", whole, "".join(parts[:-1])):
            for end in ("", "\x01"):
                yield beginning + piece * (length // len(piece)) + end


def seconds(pattern: re.Pattern[Any], methods: set[str], text: str) -> float:
    given: Any = text if isinstance(pattern.pattern, str) else text.encode()
    began = time.thread_time()
    if methods - WHOLE:
        for _ in pattern.finditer(given):
            pass
    for method in methods & WHOLE:
        getattr(pattern, method)(given)
    return time.thread_time() - began


def is_linear(pattern: re.Pattern[Any], methods: set[str], short: str, long: str) -> bool:
    # Several attempts: something else may have taken the processor's caches.
    for _ in range(4):
        taken = seconds(pattern, methods, long)
        if taken < UNMEASURED_SECONDS or taken < MOST_GROWTH * seconds(pattern, methods, short):
            return True
    return False


@pytest.mark.timeout(120)  # A pattern may take exponential time.
def test_every_pattern_takes_linear_time() -> None:
    slow = set()
    for pattern, (name, methods) in all_patterns().items():
        texts = zip(hostile_texts(pattern, LENGTH), hostile_texts(pattern, LENGTH * GROWTH), strict=True)
        for short, long in texts:
            if not is_linear(pattern, methods, short, long):
                slow.add((name, short[-40:]))
                break
    assert not slow


def test_patterns_that_are_made_at_run_time_are_known() -> None:
    made = {file for file, first, _ in of_calls() if not isinstance(first, ast.Constant)}
    assert made == {file for file, _ in MADE_AT_RUN_TIME}
