"""The address of AG-UI. The package `ag-ui-protocol` is optional, so it is imported with the first request."""

from importlib.util import find_spec

from runtime.errors import how_to_install
from sessions_app.api.access.connections import Stream
from sessions_app.api.stream_server import ApiStream, StreamRequest
from sessions_app.errors import NotInstalledError

MISSING = f"AG-UI needs the package 'ag-ui-protocol': {how_to_install('ag-ui')}"


async def run_agent(request: StreamRequest) -> Stream:
    """Run an agent, or follow its thread, until the thread rests."""
    if find_spec("ag_ui") is None:
        raise NotInstalledError(MISSING)
    from sessions_app.contrib.ag_ui.requests import begin_run

    return await begin_run(request)


AG_UI = ApiStream("ag-ui/<str:app_name>", run_agent, "Run an agent by AG-UI", "POST")
