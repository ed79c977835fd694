"""Client of Slack's Web API."""

from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from sessions_app.conf import conf
from sessions_app.errors import InvalidInputError, TooLargeError, UnavailableError
from sessions_app.models import SlackThread

CALL_SECONDS = 15
FILES_HOST = "files.slack.com"
NETWORK_ERRORS = (SlackClientError, aiohttp.ClientError, TimeoutError)
"""Errors of calls: Slack refuses, cannot be reached, or answers something else than JSON."""


def client_of(team: str) -> AsyncWebClient:
    """Return a client with the bot token of a workspace."""
    settings = conf()
    # The SDK would repeat a call whose connection broke, although Slack may have posted the message.
    return AsyncWebClient(
        settings.slack_tokens.get(team), settings.slack_api, timeout=CALL_SECONDS, retry_handlers=[]
    )


async def find_message(thread: SlackThread, ts: str) -> dict[str, Any] | None:
    """Return a message of a thread by its id; None if it was deleted."""
    found = await client_of(thread.team_id).conversations_replies(
        channel=thread.channel_id, ts=thread.thread_ts, oldest=ts, latest=ts, inclusive=True
    )
    # Slack adds the first message of the thread.
    return next((message for message in found["messages"] if message["ts"] == ts), None)


async def download(team: str, file: dict[str, Any]) -> tuple[str, bytes]:
    """Return name and content of a file that a message names.

    Raises:
        InvalidInputError: the file is not at Slack, such as one of another service.
        TooLargeError: the file is larger than an upload may be.
        UnavailableError: Slack does not send the file.
    """
    settings = conf()
    url = str(file.get("url_private_download") or "")
    # The token must not go to another server.
    if urlsplit(url).netloc not in (FILES_HOST, urlsplit(settings.slack_api).netloc):
        raise InvalidInputError("Only files that are stored in Slack can be sent to the agent.")
    headers = {"authorization": f"Bearer {settings.slack_tokens.get(team)}"}
    timeout = aiohttp.ClientTimeout(CALL_SECONDS)
    data = bytearray()
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(url, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise UnavailableError("Slack does not send the file. Try again.")
            async for piece in response.content.iter_chunked(65_536):
                data += piece
                if len(data) > settings.upload_bytes:
                    raise TooLargeError("The file is too large.")
    except (aiohttp.ClientError, TimeoutError) as error:
        raise UnavailableError("Slack does not send the file. Try again.") from error
    return str(file.get("name") or "file"), bytes(data)
