"""Hooks: plugins first, then the agent's own callbacks; the first answer wins (spec C1, C4)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

T = TypeVar("T")
Callback = Callable[..., T | Awaitable[T | None] | None]


def as_list(callbacks: Callback[T] | list[Callback[T]] | None) -> list[Callback[T]]:
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


async def first_answer(callbacks: Iterable[Callback[T]], **kwargs: Any) -> T | None:
    """The first truthy result of the callbacks, called in order with keyword arguments (spec Q5)."""
    for function in callbacks:
        answer = await call(function, **kwargs)
        if answer:
            return answer
    return None
