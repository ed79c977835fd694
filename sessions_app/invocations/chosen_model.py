"""The model that a person has chosen for a chat, among those of `ADK["chat_models"]`.

The choice is a value of the session's state, changed by a message: so it is stored, rewound, exported and erased with
the message, and a process that resumes the invocation reads it. Code of agents and programs may write any value there;
only a model that the site offers is ever used.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from runtime.models.base_llm import BaseLlm
from runtime.models.registry import LLMRegistry
from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError

MODEL_KEY = "adk_model"
"""Key of the state with the name of the model; empty for the models of the agents."""


def offered_models(app_name: str) -> Mapping[str, str]:
    """Return the names of the models that people may choose in chats with the app, with their labels."""
    return conf().of_app(app_name).chat_models


def choice_of_model(app_name: str, name: str | None) -> dict[str, Any]:
    """Return the change of the state for a chosen model: empty for None, which keeps the choice.

    Raises:
        InvalidInputError: the site does not offer the model for this app.
    """
    if name is None:
        return {}
    offered = offered_models(app_name)
    if name and name not in offered:
        given = repr(name[:80])
        if not offered:
            raise InvalidInputError(
                f"The model {given} cannot be chosen: the agents of this chat have their own.", field="model"
            )
        choices = ", ".join(offered.values())
        raise InvalidInputError(
            f"The model {given} is not offered in this chat. Choose one of {choices}.", field="model"
        )
    return {MODEL_KEY: name}


def chosen_name(app_name: str, state: Mapping[str, Any]) -> str:
    """Return the name of the chosen model; empty without a choice, or when it is no longer offered."""
    name = state.get(MODEL_KEY)
    return name if isinstance(name, str) and name in offered_models(app_name) else ""


def chosen_model(app_name: str, state: Mapping[str, Any]) -> BaseLlm | None:
    """Return the chosen model; None for the models of the agents."""
    name = chosen_name(app_name, state)
    return model_named(name) if name else None


@lru_cache(maxsize=64)
def model_named(name: str) -> BaseLlm:
    """Return the model with the name; one object for all chats, because it keeps the connections to its provider."""
    return LLMRegistry.new_llm(name)
