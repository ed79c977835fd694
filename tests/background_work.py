"""The end of what a test process does on its background loop."""

from channels.layers import get_channel_layer

from sessions_app.shutdown import shut_down


async def end_background_work() -> None:
    """Shut down the running loop as a process does, and end the receiver of its channel layer."""
    await shut_down()
    await get_channel_layer().flush()
