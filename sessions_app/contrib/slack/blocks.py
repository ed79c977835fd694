"""Messages as Slack has them: pure functions.

Slack reads `<!channel>` and `<@U…>` in a text as commands that call people. Texts of agents and tools are escaped so
that none of them is one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from runtime import types
from runtime.events.calls import REQUEST_CREDENTIAL
from sessions_app.api.tasks.questions import Question, asks_yes_or_no, options_of, text_of_question
from sessions_app.rendering.hidden_characters import escape_hidden
from sessions_app.secrets.masking import mask_text

Block = dict[str, Any]
MAX_MARKDOWN = 11_000
"""Characters of a block of Markdown; Slack takes 12,000 in a message."""
MAX_TEXT = 2_900
"""Characters of other texts of a block; Slack takes 3,000."""
MAX_OPTIONS = 20
MAX_LABEL = 75
MAX_ANSWER = 3_000
YES_OR_NO = ("yes", "no")
_COMMAND = re.compile("<(?=[!@#])")


@dataclass(frozen=True)
class SlackMessage:
    """A message to post.

    Attributes:
        key: name of what is posted; the same thing has the same key after a crash.
        text: the message in Slack's markup, for notifications.
    """

    key: str
    text: str
    blocks: Sequence[Block]


def escape(text: str) -> str:
    """Return a plain text in Slack's markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain_text(marked: str, bot_id: str) -> str:
    """Return the text of a person's message, without the mention of the agent."""
    text = marked.replace(f"<@{bot_id}>", "") if bot_id else marked
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def answer_messages(event_id: str, text: str) -> Iterator[SlackMessage]:
    """Yield the messages with the text of an event, which may be longer than a message of Slack."""
    shown = _COMMAND.sub("&lt;", _shown(text))
    number = 0
    while shown:
        piece = shown[:MAX_MARKDOWN]
        if len(shown) > MAX_MARKDOWN:
            end = piece.rfind("\n")
            piece = piece[: end + 1] or piece
        shown = shown[len(piece) :]
        if piece.strip():
            notified = escape(piece[:MAX_TEXT].replace("&lt;", "<"))
            yield SlackMessage(f"event:{event_id}:{number}", notified, [{"type": "markdown", "text": piece}])
            number += 1


def question_message(key: str, question: Question, chat_url: str) -> SlackMessage:
    """Return the message that asks a question, with buttons or a field for the answer."""
    words = _shown(text_of_question(question))
    cut = words[:MAX_TEXT]
    blocks = [text_block(cut)]
    if len(words) > MAX_TEXT or _needs_page(question):
        # Nobody may approve what they have not seen whole.
        link = f"<{chat_url}|{escape(gettext('Answer in the chat'))}>"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link}})
    elif options := _options(question):
        buttons = [_button(number, option) for number, option in enumerate(options)]
        blocks.append({"type": "actions", "block_id": key, "elements": buttons})
    else:
        blocks.append(_field(key))
    return SlackMessage(key, escape(cut), blocks)


def text_block(text: str) -> Block:
    """Return a block with a text in which nothing is markup."""
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


def answered_blocks(blocks: Sequence[Mapping[str, Any]], words: str) -> list[Any]:
    """Return the blocks of a question without its buttons, with `words` below it."""
    kept = [block for block in blocks if block.get("type") == "section"]
    return [*kept, text_block(words)]


def can_answer(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the blocks have buttons or a field."""
    return any(block.get("type") in ("actions", "input") for block in blocks)


def _shown(text: str) -> str:
    return escape_hidden(mask_text(text))


def _needs_page(question: Question) -> bool:
    if isinstance(question, types.FunctionCall) and question.name == REQUEST_CREDENTIAL:
        return True
    options = _options(question)
    return len(options) > MAX_OPTIONS or any(len(option) > MAX_LABEL for option in options)


def _options(question: Question) -> Sequence[str]:
    if asks_yes_or_no(question):
        return YES_OR_NO
    return list(map(str, options_of(question)))


def _button(number: int, option: str) -> Block:
    label = {"type": "plain_text", "text": _shown(option)[:MAX_LABEL] or "…", "emoji": False}
    button = {"type": "button", "action_id": f"adk_{number}", "text": label, "value": option}
    if option == YES_OR_NO[0]:
        button["style"] = "primary"
    return button


def _field(key: str) -> Block:
    field = {
        "type": "plain_text_input",
        "action_id": "adk_text",
        "max_length": MAX_ANSWER,
        "dispatch_action_config": {"trigger_actions_on": ["on_enter_pressed"]},
    }
    label = {"type": "plain_text", "text": gettext("Your answer")}
    return {"type": "input", "block_id": key, "dispatch_action": True, "label": label, "element": field}
