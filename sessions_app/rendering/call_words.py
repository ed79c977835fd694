"""Words for a function call on the page: "Looking up order" while it runs, "Looked up order" afterwards.

A tool's `title` is a phrase in the imperative, with arguments in braces: "Look up order {order_id}". A tool without a
title goes by its name. Catalogues of a project may translate titles.

Tenses are made for English phrases that begin with a known verb. "order" in `order_status` is a noun, so the name of a
tool counts as a phrase only if the tool's description begins with the same word.

A call may be older than the present code: its tool may be gone, or an agent may not load. A page must show the call
anyway, so nothing here raises.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop

from runtime.agents.tree import agents_named, tools_of
from runtime.tools.base_tool import BaseTool
from runtime.tools.base_toolset import BaseToolset
from runtime.tools.declared_parameters import parameter_names
from runtime.workflow.wait_node import WaitTool
from sessions_app.agent_apps import registry
from sessions_app.base.languages import shown_language
from sessions_app.rendering.once_filter import once
from sessions_app.rendering.outline import as_words
from sessions_app.secrets.masking import shortened

logger = logging.getLogger(__name__)
logger.addFilter(once)
MAX_ARGUMENT_LENGTH = 60
ARGUMENT = re.compile(r"\{(\w+)\}")
CONSONANT, VOWEL = "[bcdfghjklmnpqrstvwxyz]", "[aeiou]"
REGULAR_VERBS = frozenset(
    """add adjust analyze answer approve archive ask assign attach book browse calculate call cancel change
    charge check classify clean clear close collect compare compute configure confirm convert copy count crawl
    create decide delete deploy describe detect divide download edit email escalate estimate evaluate execute
    explain export extract fetch fill filter fix forecast format generate identify import index inspect install
    invite launch list load locate log look mark match measure merge monitor move multiply notify open order
    parse pause ping plan plot post predict prepare preview print process publish query rank recommend record
    refund register reject remember remind remove rename render replace reply request reserve reset resolve
    restart restore retrieve return review roll round save scan schedule score scrape search select share show
    simulate sort start stop store submit subtract subscribe suggest summarize sync tag test track transcribe
    transform translate turn update upgrade upload validate verify view visit wait""".split()
)
IRREGULAR_PAST = {
    **{"build": "built", "buy": "bought", "choose": "chose", "cut": "cut", "do": "did", "draw": "drew"},
    **{"find": "found", "forget": "forgot", "get": "got", "give": "gave", "hold": "held", "keep": "kept"},
    **{"make": "made", "pay": "paid", "put": "put", "read": "read", "run": "ran", "reset": "reset"},
    **{"sell": "sold", "send": "sent", "set": "set", "take": "took", "tell": "told", "think": "thought"},
    **{"undo": "undid", "write": "wrote"},
}
STRESSED_AT_THE_END = frozenset({"forget", "format", "submit", "reset"})

TITLES_OF_TOOLS = (
    gettext_noop("Look at {artifact_names}"),
    gettext_noop("Look in earlier chats for “{query}”"),
    gettext_noop("Look up “{query}” in the documents"),
    gettext_noop("Look which skills there are"),
    gettext_noop("Look for a skill for {query}"),
    gettext_noop("Read the skill {skill_name}"),
    gettext_noop("Read {file_path} of the skill {skill_name}"),
    gettext_noop("Run {file_path} of the skill {skill_name}"),
)
"""Titles of the runtime's tools, whose rows say what an answer may be based on."""


@dataclass(frozen=True)
class CallWords:
    """Phrases for a call.

    Attributes:
        plain: phrase without a tense.
        running: phrase while the call runs.
        done: phrase after the call.
        names_arguments: True if the phrase contains arguments; then the page does not list them next to it.
    """

    plain: str
    running: str
    done: str
    names_arguments: bool


def describe_call(tool: BaseTool | None, name: str, args: Mapping[str, Any]) -> CallWords:
    """Return the words for a call. Without `tool`, for a tool that the site no longer has, they come from its name."""
    title = as_words(name)
    if tool and tool.title:
        title = gettext(tool.title)
    phrase = ARGUMENT.sub(lambda match: _argument(args, match[1]), title)
    verb, _, rest = phrase.partition(" ")
    # Tenses only in English: a title of another language is shown as it was translated.
    running = done = None
    if tool is not None and shown_language() == "en" and _is_imperative(tool, verb):
        running, done = tenses(verb.lower())
    return CallWords(
        plain=_sentence(verb, rest),
        running=_sentence(running or verb, rest),
        done=_sentence(done or verb, rest),
        # The job of a wait says when it ends.
        names_arguments=ARGUMENT.search(title) is not None or isinstance(tool, WaitTool),
    )


def tenses(verb: str) -> tuple[str | None, str | None]:
    """Return the present participle and the past tense of a verb; (None, None) for an unknown word."""
    if verb not in REGULAR_VERBS and verb not in IRREGULAR_PAST:
        return None, None
    stem = verb
    past = f"{verb}ed"
    if verb.endswith("e"):
        stem = verb[:-1]
        past = f"{verb}d"
    elif re.search(f"{CONSONANT}y$", verb):
        past = f"{verb[:-1]}ied"
    elif _doubles_its_end(verb):
        stem = verb + verb[-1]
        past = f"{stem}ed"
    return f"{stem}ing", IRREGULAR_PAST.get(verb, past)


def _is_imperative(tool: BaseTool, verb: str) -> bool:
    return tool.title is not None or tool.description.lower().startswith(f"{verb.lower()} ")


def _doubles_its_end(verb: str) -> bool:
    """True if the tenses double the last consonant, as in "planned" and "submitted"."""
    one_syllable = re.fullmatch(f"{CONSONANT}*{VOWEL}[bdglmnprt]", verb)
    return one_syllable is not None or verb in STRESSED_AT_THE_END


def _argument(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if value is None:
        return "…"
    return shortened(" ".join(str(value).split()), MAX_ARGUMENT_LENGTH)


def _sentence(verb: str, rest: str) -> str:
    words = f"{verb} {rest}".strip()
    return words[:1].upper() + words[1:]


def find_tool(app_name: str, agent_name: str, tool_name: str) -> BaseTool | None:
    """Return a tool of an agent; None if there is no such tool, or the agents cannot be loaded.

    Of toolsets only known tools are found: a toolset may need the network to list all.
    """
    try:
        app = registry.apps().get(app_name)
    except Exception:  # An agents.py may raise anything.
        logger.exception("The agents cannot be loaded")
        return None
    if app is None:
        return None
    for agent in agents_named(app.root_agent, agent_name):
        for source in tools_of(agent):
            if isinstance(source, BaseToolset):
                found = source.find_known_tool(tool_name)
                if found:
                    return found
            elif source.name == tool_name:
                return source
    return None


def argument_order(tool: BaseTool | None) -> dict[str, int]:
    """Return the position of each parameter in the tool's declaration; empty if the tool cannot be declared."""
    if tool is None:
        return {}
    try:
        declaration = tool._get_declaration()
    except Exception:  # A tool may raise anything.
        logger.exception("Tool %r cannot be declared", tool.name)
        return {}
    if not declaration:
        return {}
    return {name: place for place, name in enumerate(parameter_names(declaration))}
