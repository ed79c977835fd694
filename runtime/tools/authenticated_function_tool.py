"""AuthenticatedFunctionTool: a function that gets a credential (contract T8)."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from runtime.auth.auth_tool import AuthConfig
from runtime.context import Context
from runtime.tools.arguments import BadArguments
from runtime.tools.function_tool import FunctionTool
from runtime.tools.openapi_tool.auth.authorize import Authorizer
from runtime.tools.openapi_tool.http_exchange import HttpExchange


class AuthenticatedFunctionTool(FunctionTool):
    """A function that is called when a credential is there: the author's, or the person's, who is asked for it.

    A parameter `credential` gets the `AuthCredential`, with the token for which a code was exchanged. The model does
    not see the parameter.

    Args:
        func: see `FunctionTool`.
        auth_config: the security scheme, and the author's credential or registration as a client.
        response_for_auth_required: the response to the call while the person is asked.
    """

    def __init__(
        self,
        *,
        func: Callable[..., Any],
        auth_config: AuthConfig,
        response_for_auth_required: dict[str, Any] | str | None = None,
    ) -> None:
        self._takes_credential = "credential" in inspect.signature(func).parameters
        # A parameter that a partial fills is not declared to the model.
        super().__init__(partial(func, credential=None) if self._takes_credential else func)
        self._auth_config = auth_config
        self._response = response_for_auth_required

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        """Call the function with the credential; ask the person if there is none.

        Raises:
            ExchangeError: the authorization server refused the credential. The next call asks the person again.
        """
        bound = self._bind(args, tool_context)
        if isinstance(bound, BadArguments):
            return self._refuse(bound.message)
        config = self._auth_config
        if await self._authorizer().authorize(tool_context) is None:
            return self._response
        if self._takes_credential:
            bound["credential"] = tool_context.get_auth_response(config) or config.raw_auth_credential
        return await self._invoke(bound)

    async def is_ready_for_job(self, *, tool_context: Context) -> bool:
        """Let the person sign in before the job, which cannot ask."""
        return await self._authorizer().sign_in_before_job(tool_context)

    def _authorizer(self) -> Authorizer:
        config = self._auth_config
        return Authorizer(
            config.auth_scheme, config.raw_auth_credential, config.credential_key, HttpExchange()
        )
