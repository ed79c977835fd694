"""Hooks: plugins first, then the agent's own callbacks; the first answer wins (spec C1, C4)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

T = TypeVar("T")
Callback = Callable[..., T | Awaitable[T | None] | None]
Callbacks = Callback[T] | list[Callback[T]] | None
"""Type of an agent's callback field: one callable, a list of them, or None."""


def as_list(callbacks: Callbacks[T]) -> list[Callback[T]]:
    """The callbacks of a field that takes one, several or none."""
    if callbacks is None:
        return []
    return callbacks if isinstance(callbacks, list) else [callbacks]


async def call(function: Callback[T], **kwargs: Any) -> T | None:
    """Call a callback that may be sync or async."""
    answer = function(**kwargs)
    if inspect.isawaitable(answer):
        answer = await answer
    return cast("T | None", answer)


async def close_each(closings: Iterable[tuple[str, Callback[object]]]) -> list[str]:
    """Call every one, given with the name of what it closes, also when one fails; what failed, and why."""
    failures: list[str] = []
    for name, close in closings:
        try:
            await call(close)
        except Exception as error:  # noqa: BLE001 - every one gets its turn; the caller reports them all
            failures.append(f"{name}: {error}")
    return failures


async def first_answer(callbacks: Iterable[Callback[T]], **kwargs: Any) -> T | None:
    """The first truthy result of the callbacks, called in order with keyword arguments (spec Q5)."""
    for function in callbacks:
        answer = await call(function, **kwargs)
        if answer:
            return answer
    return None
