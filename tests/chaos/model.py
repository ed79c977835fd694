"""HTTP server of the obedient model, for the Gemini client: `python -m tests.chaos.model HOST PORT`."""

from __future__ import annotations

import asyncio
import sys

from runtime import types
from tests.chaos.site.obedience import PAUSE_SECONDS, call_for, words_for
from tests.model_server import Call, ModelServer, RecordedRequest, Turn


def obey(request: RecordedRequest) -> Turn:
    """Return the turn that the last part of the request asks for."""
    part = types.Part.model_validate(request.body["contents"][-1]["parts"][-1])
    call = call_for(part)
    if call is not None:
        return Turn(calls=[Call(name=call.name or "", args=call.args or {})])
    return Turn(text=words_for(part), pause=PAUSE_SECONDS)


async def _serve(host: str, port: int) -> None:
    async with ModelServer(port, host) as server:
        server.rule = obey
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
