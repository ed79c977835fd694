"""Sentences of the sources that people read, as message ids of the catalogues.

- templates: `{% translate %}`, `{% blocktranslate %}` and `_("…")`
- Python: calls of gettext, and the sentences of errors; a value in an f-string becomes `{0}`, `{1}`
- the runtime: the reasons that end an answer
- JavaScript: calls of `t` and `plural`
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.template import Engine
from django.template.base import Node, Template
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = "sessions_app/static/sessions_app/chat"
TEMPLATES = ("*.html", "chat/*.html", "registration/*.html")
WITHOUT_ADMIN = re.compile(
    r"sessions_app/(admin/|contrib/(?!slack/|mcp/consent|knowledge/(apps|documents|owner_pages))|management/|migrations/)|adk_site/(admin|dev|embedded|demo/(?!__init__))"
)
ERRORS_FOR_PEOPLE = re.compile(
    r"sessions_app/(chat|invocations|sessions)/"
    r"|sessions_app/(use_cases/(answers|files|jobs|linked_accounts|messages|sessions|sign_in|user_state)"
    r"|base/client_ids)\.py"
    r"|sessions_app/contrib/(slack/(incoming|client)|mcp/consent|knowledge/(documents|owner_pages))\.py"
    r"|sessions_app/store/(uploads|artifact_service|erasing)\.py|sessions_app/(jobs/questions|limits/open_sockets)\.py"
)
"""Modules whose errors reach people; those of other modules are for developers, the log or the model."""
STOP_REASONS = "runtime/models/llm_response.py"
"""Module of the runtime whose dicts have sentences for people as values."""
ERROR_NAMES = {
    "InvalidInputError",
    "TooLargeError",
    "ConflictError",
    "NotFoundError",
    "PermissionDeniedError",
    "LimitExceededError",
    "UnavailableError",
}
SINGULAR = {"gettext", "gettext_lazy", "gettext_noop"}
PLURAL = {"ngettext", "ngettext_lazy"}
TEMPLATE_GETTEXT = re.compile(r"""_\((["'])(.*?)\1\)""")
STRING = r'"((?:[^"\\]|\\.)*)"'
SCRIPT_SINGULAR = re.compile(rf"\bt\(\s*{STRING}")
SCRIPT_PLURAL = re.compile(rf"\bplural\(\s*{STRING},\s*{STRING}")


@dataclass(frozen=True)
class Message:
    """A sentence of the sources, with its plural form and its context if it has them."""

    path: str
    singular: str
    plural: str = ""
    context: str = ""


def messages() -> Iterator[Message]:
    """Yield the sentences of all sources."""
    yield from _of_templates()
    for folder in ("sessions_app", "adk_site"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = str(file.relative_to(ROOT))
            if not WITHOUT_ADMIN.match(path):
                yield from _of_python(path, ast.parse(file.read_text()))
    yield from _of_values(STOP_REASONS)
    for file in sorted((ROOT / SCRIPTS).glob("*.js")):
        yield from _of_script(str(file.relative_to(ROOT)), file.read_text())


def is_of_script(path: str) -> bool:
    """True for the path of a script of the pages."""
    return path.endswith(".js")


def _of_templates() -> Iterator[Message]:
    engine = Engine.get_default()
    for pattern in TEMPLATES:
        for file in sorted((ROOT / "templates").glob(pattern)):
            path, source = str(file.relative_to(ROOT)), file.read_text()
            for node in _nodes(engine.from_string(source)):
                if isinstance(node, TranslateNode):
                    context = str(node.message_context.var) if node.message_context else ""
                    yield Message(path, str(node.filter_expression.var.literal), context=context)
                elif isinstance(node, BlockTranslateNode):
                    plural = node.render_token_list(node.plural)[0] if node.plural else ""
                    yield Message(path, node.render_token_list(node.singular)[0], plural)
            yield from (Message(path, text) for _, text in TEMPLATE_GETTEXT.findall(source))


def _nodes(template: Template) -> Iterator[Node]:
    for kind in (TranslateNode, BlockTranslateNode):
        yield from template.nodelist.get_nodes_by_type(kind)


def _of_python(path: str, tree: ast.Module) -> Iterator[Message]:
    has_errors = ERRORS_FOR_PEOPLE.match(path) is not None
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        texts = [_pattern(argument) for argument in call.args[:2]]
        if name in SINGULAR and texts[0]:
            yield Message(path, texts[0])
        elif name in PLURAL:
            yield Message(path, *texts)
        elif name == "pgettext":
            yield Message(path, texts[1], context=texts[0])
        elif name in ERROR_NAMES and has_errors and texts and texts[0]:
            yield Message(path, texts[0])


def _of_values(path: str) -> Iterator[Message]:
    """Yield the values of all dicts in a module."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Dict):
            yield from (Message(path, _pattern(value)) for value in node.values)


def _pattern(node: ast.expr) -> str:
    """Return the text of a string, with numbered places for the values of an f-string; empty for another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    texts, places = [], 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            texts.append(str(part.value))
        else:
            texts.append(f"{{{places}}}")
            places += 1
    return "".join(texts)


def _of_script(path: str, source: str) -> Iterator[Message]:
    for text in SCRIPT_SINGULAR.findall(source):
        yield Message(path, json.loads(f'"{text}"'))
    for one, other in SCRIPT_PLURAL.findall(source):
        yield Message(path, json.loads(f'"{one}"'), json.loads(f'"{other}"'))
