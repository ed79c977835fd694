"""The address of the MCP server: an ASGI application outside of Django's handler.

The SDK's server would answer some unusual requests with an internal error, so method, origin, key and JSON are checked
here first.
"""

from http import HTTPStatus
from importlib.util import find_spec

from django.core.exceptions import RequestAborted

from runtime.errors import how_to_install
from sessions_app.api.access.authentication import caller_with_bearer_key
from sessions_app.api.access.connections import reserve_connection
from sessions_app.api.access.problems import problem_of
from sessions_app.api.json_bodies import refusal_of_json_rpc
from sessions_app.asgi.origin import is_from_own_page
from sessions_app.asgi.problem_details import method_not_allowed
from sessions_app.asgi.protocol import AsgiScope, Receive, Send, read_body, send_response
from sessions_app.conf import conf
from sessions_app.contrib.mcp.authorization import challenge
from sessions_app.errors import NotInstalledError, PermissionDeniedError

ROUTE = "mcp"
NO_PACKAGE = f"The MCP server of this site needs the package 'mcp': {how_to_install('mcp')}"


async def mcp(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Serve a message of a program with a key. There are no sessions to listen to (GET) or to end (DELETE)."""
    if scope["method"] != "POST":
        await send_response(send, method_not_allowed("POST"))
        return
    try:
        if find_spec("mcp") is None:
            raise NotInstalledError(NO_PACKAGE)
        # Against DNS rebinding: the host must be one of the site's, and the page of a browser, too.
        if not is_from_own_page(scope, needs_origin=False):
            raise PermissionDeniedError("The site has no such host, or a page of another site asks for this.")
        caller = await caller_with_bearer_key(scope)
        with await reserve_connection(caller):
            # Files come as base64 in the JSON, so a body is larger than its files.
            body = await read_body(receive, 2 * conf().upload_bytes)
            refusal = refusal_of_json_rpc(body, HTTPStatus.BAD_REQUEST)
            if refusal is not None:
                await send_response(send, refusal)
            else:
                from sessions_app.contrib.mcp.server import answer

                await answer(caller, scope, body, receive, send)
    except RequestAborted:
        return  # The program has left.
    except Exception as error:  # noqa: BLE001 - logged, and reported to the program
        response = problem_of(error)
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            response["WWW-Authenticate"] = challenge(scope)
        await send_response(send, response)
