"""Staff who correct the state of sessions in the admin, and the check of their corrections."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from itertools import cycle
from uuid import UUID

import httpx

from sessions_app.models import SessionAct
from tests.chaos.connections import REQUEST_SECONDS, TLS
from tests.chaos.conversation import Conversation

logger = logging.getLogger(__name__)
KEY = "corrected"
RETRY_SECONDS = 0.3


class Staff:
    """A member of staff with a browser of the admin.

    Args:
        cookie: cookie of the signed-in user.
        sites: host and port of each web process, asked in turn.
    """

    def __init__(self, cookie: str, sites: list[str]) -> None:
        self._cookie = dict([cookie.split("=", 1)])
        self._sites: Iterator[str] = cycle(sites)

    async def correct(self, session_id: UUID, value: str) -> None:
        """Give the key `KEY` a new value, until the page has it. A form that was lost is filled in anew."""
        while True:
            try:
                if await self._try_to_correct(session_id, value):
                    return
            except httpx.HTTPError as error:  # The process was killed, or PostgreSQL was away.
                logger.warning("The correction %s is given anew: %r", value, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _try_to_correct(self, session_id: UUID, value: str) -> bool:
        """Return True if the page has the value; else post the form, which may be refused or lost."""
        page = f"http://{next(self._sites)}/admin/sessions_app/session/{session_id}/state/?key={KEY}"
        async with httpx.AsyncClient(cookies=self._cookie, timeout=REQUEST_SECONDS, verify=TLS) as client:
            html = (await client.get(page)).raise_for_status().text
            if f"&quot;{value}&quot;" in html:
                return True
            fields = {name: _field(html, name) for name in ("csrfmiddlewaretoken", "seen-0")}
            form = {**fields, "key": KEY, "value-0": json.dumps(value), "reason": "chaos"}
            (await client.post(page, data=form)).raise_for_status()
        return False


def _field(html: str, name: str) -> str:
    tag = re.search(rf'<input[^>]*name="{name}"[^>]*>', html)
    value = tag and re.search(r'value="([^"]*)"', tag[0])
    return value[1] if value else ""


def check_corrections(given: list[str], conversation: Conversation) -> list[str]:
    """Check that each correction is one event with its act; rewinds may bring earlier values back."""
    stored = [
        event.actions.state_delta[KEY]
        for event in conversation.events
        if KEY in event.actions.state_delta and event.actions.rewind_before_invocation_id is None
    ]
    acts = SessionAct.objects.filter(session=conversation.session, action="change").count()
    problems = [] if stored == given else [f"{given} were given, {stored} are stored"]
    return problems if acts == len(given) else [*problems, f"{len(given)} corrections have {acts} acts"]
