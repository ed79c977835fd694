"""Operations as descriptors: each is written once, and becomes a method of both clients.

The decorated method returns a `Call`, and is never called by a user. Access through a client returns a function that
passes the `Call` to the client's `send`. The overloads of `__get__` tell a type checker that `AsyncClient` returns a
coroutine, so both clients are fully typed without a second list of methods.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from adk_client.calls import Call
from adk_client.news import News
from adk_client.stream import Stream

P = ParamSpec("P")
T = TypeVar("T")


class Sender(Protocol):
    """The synchronous client."""

    def send(self, call: Call[T], /) -> T:
        """Send the call and return its result."""

    def follow(self, stream: Stream, /) -> Iterator[News]:
        """Yield the news of the stream."""


class AsyncSender(Protocol):
    """The asynchronous client."""

    def send(self, call: Call[T], /) -> Coroutine[Any, Any, T]:
        """Send the call and return its result."""

    def follow(self, stream: Stream, /) -> AsyncIterator[News]:
        """Yield the news of the stream."""


class Operation(Generic[P, T]):
    """Method of both clients, written once as the call that it sends. `AsyncClient` returns a coroutine."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: Sender, owner: Any = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, client: AsyncSender, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Any, owner: Any = None) -> Callable[P, Any]:
        """Return the method of a client."""

        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.describe(client, *args, **kwargs))

        send.__doc__ = self.__doc__
        return send


class StreamOperation(Generic[P]):
    """Method of both clients that yields the news of a stream."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Stream]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: Sender, owner: Any = None) -> Callable[P, Iterator[News]]: ...

    @overload
    def __get__(self, client: AsyncSender, owner: Any = None) -> Callable[P, AsyncIterator[News]]: ...

    def __get__(self, client: Any, owner: Any = None) -> Callable[P, Any]:
        """Return the method of a client."""

        def follow(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.follow(self.describe(client, *args, **kwargs))

        follow.__doc__ = self.__doc__
        return follow
