"""ConversationScenario: a plan for a simulated user."""

from typing import Any

from runtime.evaluation.common import EvalBaseModel


class ConversationScenario(EvalBaseModel):
    """Wishes of a simulated user.

    Attributes:
        starting_prompt: the first message.
        conversation_plan: aims and facts for the later messages.
        user_persona: a word such as `NOVICE`, or an object that describes the person.
    """

    starting_prompt: str
    conversation_plan: str
    user_persona: str | dict[str, Any] | None = None
