"""Headers that an author computes for each call of a tool, such as the token of its user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from runtime.context import ReadonlyContext

Headers = dict[str, str]
HeaderProvider = Callable[[ReadonlyContext], Headers | Awaitable[Headers | None] | None]


async def provided_headers(provider: HeaderProvider | None, context: ReadonlyContext | None) -> Headers:
    """Return the provider's headers; none without an invocation or a provider, or when the provider returns None."""
    if provider is None or context is None:
        return {}
    answer = provider(context)  # The parameter of a provider has no fixed name.
    return (await answer if isinstance(answer, Awaitable) else answer) or {}
