"""Translation of sentences that were made before their reader was known: errors, and stored outcomes.

Such sentences are English in the code, in the log and in the database. For a reader, `in_language` translates the
sentence, or recognizes the pattern from which it was made, such as "The frame is larger than {0} characters.", and
translates the pattern. `tests/catalogues/extract.py` reads the patterns from the f-strings of the sources.
"""

import gettext as catalogues
import re
from functools import cache
from pathlib import Path

from django.utils.translation import get_language, gettext, gettext_noop

LOCALE = Path(__file__).parent.parent / "locale"
PLACEHOLDER = re.compile(r"\\\{\d\\\}")
OF_THE_RUNTIME = (
    gettext_noop("The model is overloaded. Try again in a moment."),
    gettext_noop("The model cannot be used at the moment. Tell the people who run this site."),
    gettext_noop("The model did not answer in time. Try again in a moment."),
    gettext_noop("The model refused the request. Try again, or begin a new chat."),
    gettext_noop("The model's server sent a response that cannot be read. Try again in a moment."),
    gettext_noop("The connection to the model broke in the middle of its answer."),
    gettext_noop("The model's answer is too large."),
    gettext_noop("The model could not answer. Try again in a moment."),
    gettext_noop("The model sent a response without an answer."),
    gettext_noop("The model cannot read files of the type {0}. Begin a new chat without this file."),
    gettext_noop("The other agent cannot be reached. Try again in a moment."),
    gettext_noop("The other agent sent an answer that cannot be read."),
    gettext_noop("The other agent refused the request. Tell the people who run this site."),
    gettext_noop("The other agent could not complete the task."),
    gettext_noop("The other agent did not accept the task."),
    gettext_noop("The other agent stopped the task."),
    gettext_noop("The other agent's answer is too large."),
    gettext_noop("The other agent did not answer in time. Try again in a moment."),
    gettext_noop("There is nothing to send to the other agent."),
    gettext_noop("No agent offers this service any more. Ask the agent again."),
    gettext_noop("The answer came from another service than the one that was asked. It was not used."),
    gettext_noop("The service did not grant access."),
    gettext_noop("The service describes the sign-in of another service. It was not used."),
    gettext_noop("The service names another authorization server than the one asked for."),
    gettext_noop("The service does not protect sign-ins by PKCE with S256."),
    gettext_noop("The service does not say how to sign in."),
    gettext_noop(
        "The service registers no clients. The people who run this site have to configure one for {0}."
    ),
    gettext_noop("The service did not accept this site as a client."),
    gettext_noop("The service failed to say how to sign in (status {0}). Try again later."),
    gettext_noop("The service's description has more than {0} bytes."),
    gettext_noop("The service's sign-in is not encrypted: an address of it does not begin with https."),
)
"""Sentences of `runtime/models/`, `runtime/a2a/` and of sign-ins in `runtime/tools/`, listed here for the catalogues:
the runtime has none.

The catalogues have those of `runtime/models/llm_response.py`, too.
"""
SENTENCE_ENDS = (".", "!", "?", "…")
MAX_SENTENCE_LENGTH = 1_000
"""Maximum length of a text to match with patterns. Longer texts come from agents and tools."""


def in_language(sentence: str) -> str:
    """Return the sentence in the active language; a text without translation is returned unchanged."""
    if not sentence:
        return sentence
    language = get_language() or "en"
    if language.partition("-")[0] == "en":
        return sentence
    translation = gettext(sentence)
    if translation != sentence or len(sentence) > MAX_SENTENCE_LENGTH:
        return translation
    for pattern, msgid in _patterns(language.partition("-")[0]):
        if match := pattern.fullmatch(sentence):
            return gettext(msgid).format(*map(_value_in_language, match.groups()))
    return sentence


def _value_in_language(value: str) -> str:
    """Return a value within a sentence, translated if it is itself a sentence and not a name."""
    return in_language(value) if value.endswith(SENTENCE_ENDS) else value


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the msgids with placeholders and their regular expressions, the longest msgid first."""
    # The longest first: a short pattern may match sentences that were made from a longer one.
    # `gettext` cannot list its msgids, so read its catalogue.
    messages = catalogues.translation("django", LOCALE, [language], fallback=True)
    known = getattr(messages, "_catalog", {})
    msgids = [msgid for msgid in known if isinstance(msgid, str) and "{0}" in msgid]
    return [(_regular_expression(msgid), msgid) for msgid in sorted(msgids, key=len, reverse=True)]


def _regular_expression(msgid: str) -> re.Pattern[str]:
    return re.compile(PLACEHOLDER.sub("(.*?)", re.escape(msgid)), re.DOTALL)
