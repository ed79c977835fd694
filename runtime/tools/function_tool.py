"""FunctionTool: a Python function as a tool (contract T1, Q2, Q4)."""

import inspect
import sqlite3
from collections.abc import Callable
from typing import Any

from runtime import types
from runtime._pydantic_models import construct
from runtime.context import Context
from runtime.context import Context as ToolContext  # noqa: F401  # programs import it from here
from runtime.errors import ConfigurationError
from runtime.events.answer_rules import PERSON, check_confirmer
from runtime.tools.arguments import BadArguments, bind
from runtime.tools.base_tool import BaseTool
from runtime.tools.callables import underlying_function
from runtime.tools.function_signature import read_signature
from runtime.tools.require_confirmation import Predicate, is_confirmation_required
from runtime.tools.tool_result import ToolError
from runtime.tools.tool_threads import run_in_tool_thread

_NEEDS_LOOP = ("no running event loop", "no current event loop", "can only be used in that same thread")
"""Words of exceptions that `asyncio` and `sqlite3` raise in a thread other than the event loop's."""


class FunctionTool(BaseTool):
    """A function, method or callable object as a tool.

    The signature is read once, at construction. A synchronous function runs in a thread with the caller's context
    variables (contract L11), or on the event loop if it `runs_on_loop`.

    Args:
        func: the function; its name, type hints and docstring are declared to the model.
        title: a phrase for people: see `BaseTool`.
        require_confirmation: True if a person must confirm each call. A predicate decides per call; it is called with
            the arguments in its signature, and optionally `tool_context` (contract T7).
        may_allow_for_session: True to let the person allow the later calls of the session with the first answer.
        confirmed_by: the party that may confirm a call: `person`, the user of the session, or `staff:<permission>`,
            staff with the permission, other than the user (contract T7).
        runs_on_loop: True to call a synchronous function in the thread of the event loop, for what works in that thread
            alone: a connection of `sqlite3` that is opened at import, `asyncio.create_task`. Everything else in the
            process waits for it, so the function must be quick.

    Raises:
        ConfigurationError: a model cannot call the function, `confirmed_by` names nobody, or it names staff together
            with `may_allow_for_session`.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        title: str | None = None,
        require_confirmation: bool | Predicate = False,
        may_allow_for_session: bool = False,
        confirmed_by: str = PERSON,
        runs_on_loop: bool = False,
    ) -> None:
        self.func = func
        self.runs_on_loop = runs_on_loop
        self.title = title
        self._signature = read_signature(func)
        self._require_confirmation = require_confirmation
        self.may_allow_for_session = may_allow_for_session
        self.propagate_grounding_metadata = getattr(
            underlying_function(func), "propagate_grounding_metadata", False
        )
        super().__init__(name=self._signature.name, description=self._signature.description)
        self.confirmed_by = check_confirmer(confirmed_by, self.name, may_allow_for_session)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return construct(
            types.FunctionDeclaration,
            name=self.name,
            description=self.description,
            parameters=self._signature.schema,
        )

    async def needs_confirmation(self, *, args: dict[str, Any], tool_context: Context) -> bool:
        """Apply `require_confirmation`. Wrong arguments need no confirmation: `run_async` refuses them."""
        if self._require_confirmation is False:
            return False
        bound = bind(self._signature, args)
        if isinstance(bound, BadArguments):
            return False
        return await is_confirmation_required(self._require_confirmation, bound, tool_context)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Call the function and return its result; `{'error': …}` for the model if the arguments are wrong."""
        bound = self._bind(args, tool_context)
        if isinstance(bound, BadArguments):
            return self._refuse(bound.message)
        return await self._invoke(bound)

    def _bind(self, args: dict[str, Any], tool_context: Context) -> dict[str, Any] | BadArguments:
        bound = bind(self._signature, args)
        if not isinstance(bound, BadArguments):
            for name in self._signature.context_names:
                bound[name] = tool_context
        return bound

    def _refuse(self, message: str) -> dict[str, Any]:
        # Without the status of a failure, the invocation would pause and wait for an answer (contract T5).
        if self.is_long_running:
            return ToolError(message).as_response()
        return {"error": message}

    async def _invoke(self, arguments: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(underlying_function(self.func)):
            return await self.func(**arguments)
        if self.runs_on_loop:
            result = self.func(**arguments)
        else:
            result = await self._invoke_in_thread(arguments)
        # A lambda or a callable object may return a coroutine, which belongs to the event loop and not to the thread.
        return await result if inspect.isawaitable(result) else result

    async def _invoke_in_thread(self, arguments: dict[str, Any]) -> Any:
        try:
            return await run_in_tool_thread(self.func, **arguments)
        except (RuntimeError, sqlite3.ProgrammingError) as error:
            if not any(words in str(error) for words in _NEEDS_LOOP):
                raise
            raise ConfigurationError(
                f"Tool {self.name!r} needs the thread of the event loop: {error} Make the function async, or offer it "
                f"as FunctionTool({self.name}, runs_on_loop=True)."
            ) from error
