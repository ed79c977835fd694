"""Headers computed by an agent's author for each call of a tool, such as the token of the user."""

from collections.abc import Awaitable, Callable

from runtime.context import ReadonlyContext

Headers = dict[str, str]
HeaderProvider = Callable[[ReadonlyContext], Headers | Awaitable[Headers | None] | None]


async def provided_headers(provider: HeaderProvider | None, context: ReadonlyContext | None) -> Headers:
    """Return the provider's headers; an empty dict without an invocation, a provider or an answer."""
    if provider is None or context is None:
        return {}
    answer = provider(context)  # The parameter of a provider has no fixed name.
    if isinstance(answer, Awaitable):
        answer = await answer
    return answer or {}
