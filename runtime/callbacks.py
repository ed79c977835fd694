"""Call callbacks: sync or async, one or several, until the first answer (contract C1, C4)."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")
Callback = Callable[..., T | Awaitable[T | None] | None]
Callbacks = Callback[T] | list[Callback[T]] | None
"""Type of an agent's callback field: one callable, a list of them, or None."""


class PluginManagerProtocol(Protocol):
    """Plugins of an app as the engine calls them. Implemented by `PluginManager`."""

    @property
    def plugins(self) -> Sequence[object]: ...

    def implements(self, hook: str) -> bool: ...

    async def ask(self, hook: str, **kwargs: Any) -> Any: ...

    async def tell(self, hook: str, **kwargs: Any) -> None: ...


def as_list(callbacks: Callbacks[T]) -> list[Callback[T]]:
    """Return the callbacks of an agent's callback field as a list."""
    if callbacks is None:
        return []
    return callbacks if isinstance(callbacks, list) else [callbacks]


def callback_list(field: str) -> property:
    """Return a property for the callbacks in an agent's field, as a list."""
    return property(lambda agent: as_list(getattr(agent, field)), doc=f"The callbacks in `{field}`.")


async def call(function: Callback[T], /, **kwargs: Any) -> T | None:
    """Call a callback that may be sync or async."""
    answer = function(**kwargs)
    if inspect.isawaitable(answer):
        answer = await answer
    return cast("T | None", answer)


async def close_each(close_functions: Iterable[tuple[str, Callback[object]]]) -> list[str]:
    """Call every named close function, even after a failure; return "name: error" for each failure."""
    failures: list[str] = []
    for name, close in close_functions:
        try:
            await call(close)
        except Exception as error:  # noqa: BLE001  # the others must be closed too; the caller reports all failures
            failures.append(f"{name}: {error}")
    return failures


async def first_answer(callbacks: Iterable[Callback[T]], **kwargs: Any) -> T | None:
    """Call the callbacks in order and return the first result that is not None (contract Q5).

    A callback with other parameter names gets positional arguments, in the order of `kwargs`.
    """
    for function in callbacks:
        if _takes_by_place(function, tuple(kwargs)):
            answer = await call(partial(function, *kwargs.values()))
        else:
            answer = await call(function, **kwargs)
        if answer is not None:
            return answer
    return None


def _takes_by_place(function: Callback[Any], names: tuple[str, ...]) -> bool:
    """Return True if a function accepts these arguments, but not under these names."""
    try:
        return _takes_by_place_cached(function, names)
    except TypeError:  # a callable without a hash
        return _takes_by_place_cached.__wrapped__(function, names)


# Cached: inspecting a signature is slow, and a streamed answer calls the callbacks for each piece.
@lru_cache(maxsize=1024)
def _takes_by_place_cached(function: Callback[Any], names: tuple[str, ...]) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a callable that does not tell its parameters
        return False
    # Names first: a function that takes both gets keyword arguments.
    return not _accepts(signature, **dict.fromkeys(names)) and _accepts(signature, *names)


def _accepts(signature: inspect.Signature, /, *args: Any, **kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True
