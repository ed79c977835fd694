"""Predicates that decide if a person must confirm a call (contract T7)."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from runtime.callbacks import call
from runtime.context import Context
from runtime.tools.callables import is_context_parameter

Predicate = Callable[..., bool | Awaitable[bool]]


async def is_confirmation_required(
    rule: bool | Predicate, args: dict[str, Any], tool_context: Context
) -> bool:
    """Apply the rule to a call. Call a predicate with the arguments in its signature, and optionally the context."""
    if isinstance(rule, bool):
        return rule
    # The predicate might decide otherwise in the rerun, but the person's answer stays valid.
    if tool_context.tool_confirmation is not None:
        return True
    return bool(await call(rule, **_accepted_arguments(rule, args, tool_context)))


def _accepted_arguments(predicate: Predicate, args: dict[str, Any], tool_context: Context) -> dict[str, Any]:
    """Return the arguments in the predicate's signature."""
    parameters = inspect.signature(predicate).parameters.values()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return args
    accepted = {parameter.name: args[parameter.name] for parameter in parameters if parameter.name in args}
    contexts = [p.name for p in parameters if is_context_parameter(predicate, p)]
    return {**accepted, **dict.fromkeys(contexts, tool_context)}
