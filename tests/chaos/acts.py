"""What people do in a chat, each until it is done: say, stop, edit, confirm, answer, read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from runtime.events.calls import REQUEST_CONFIRMATION
from tests.chaos.browser import Frame
from tests.chaos.page import ENDED, OPEN, Page

CONFLICT, NOT_FOUND = "conflict", "not_found"


class Say:
    """Send a message, until it has been answered or has ended with a reason.

    Args:
        replaces: the invocation that is edited away. While something runs the server refuses that.
        stop_at: when to stop the answer: never, as soon as it is known of, or in the middle of its text.
    """

    def __init__(
        self,
        client_id: str,
        text: str,
        *,
        replaces: str = "",
        stop_at: Literal["", "start", "word"] = "",
    ) -> None:
        self._client_id, self._text = client_id, text
        self._replaces, self._stop_at = replaces, stop_at
        self._may_be_refused = {CONFLICT, NOT_FOUND} if replaces else set()

    def is_over(self, page: Page) -> bool:
        return page.status(self._client_id) in ENDED

    def frames(self, page: Page) -> Iterator[Frame]:
        message = {"type": "message", "id": self._client_id, "text": self._text}
        yield {**message, "replaces": self._replaces} if self._replaces else message
        known = page.invocations.get(self._client_id)
        if known is None or known.status not in OPEN:
            return
        if self._stop_at == "start" or (self._stop_at == "word" and known.id in page.speaking):
            yield {"type": "cancel", "invocation_id": known.id}

    def may_be_refused(self, code: str) -> bool:
        if code == NOT_FOUND:
            # It went back, died before it took the message, and somebody else has gone on since.
            self._replaces = ""
        return code in self._may_be_refused


class Confirm:
    """Say yes or no to the call that the message made, until the log has the answer."""

    def __init__(self, client_id: str, *, confirmed: bool) -> None:
        self._client_id, self._confirmed = client_id, confirmed

    def is_over(self, page: Page) -> bool:
        if page.status(self._client_id) not in ("waiting", "completed"):
            return True  # it came to no question
        call_id = self._call_id(page)
        return call_id is not None and page.is_answered(call_id)

    def frames(self, page: Page) -> Iterator[Frame]:
        call_id = self._call_id(page)
        if call_id is not None:
            yield {"type": "confirm", "call_id": call_id, "confirmed": self._confirmed}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT  # it was answered already, by the connection before

    def _call_id(self, page: Page) -> str | None:
        calls = page.calls(self._client_id)
        return next((id for id, name in calls.items() if name == REQUEST_CONFIRMATION), None)


class AnswerJob:
    """Say yes or no to what the message's job asks, until it asks no more."""

    def __init__(self, client_id: str, *, answer: bool) -> None:
        self._client_id, self._answer = client_id, answer
        self._has_asked = False

    def is_over(self, page: Page) -> bool:
        if page.status(self._client_id) not in ("waiting", "completed"):
            return True  # it came to no job
        job = self._job(page)
        if job is None:
            return False
        self._has_asked = self._has_asked or job.get("question") is not None
        asks_no_more = self._has_asked and job.get("question") is None
        return asks_no_more or job["status"] in ("succeeded", "failed", "cancelled")

    def frames(self, page: Page) -> Iterator[Frame]:
        job = self._job(page)
        if job is not None and job.get("question") is not None:
            number = job["question"]["number"]
            yield {"type": "answer_job", "id": job["id"], "number": number, "answer": self._answer}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT

    def _job(self, page: Page) -> Frame | None:
        calls = page.calls(self._client_id)
        return next((page.jobs[call_id] for call_id in calls if call_id in page.jobs), None)


class Read:
    """Read on, until the log is there up to `seq`."""

    def __init__(self, seq: int) -> None:
        self._seq = seq

    def is_over(self, page: Page) -> bool:
        return page.seq >= self._seq

    def frames(self, page: Page) -> Iterator[Frame]:
        return iter(())

    def may_be_refused(self, code: str) -> bool:
        return False
