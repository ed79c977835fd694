"""Acts of a person in a chat: send, stop, edit, turn back, confirm, answer, stop a job. Each repeats until done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from runtime.events.calls import REQUEST_CONFIRMATION, REQUEST_INPUT
from tests.chaos.connections import Frame
from tests.chaos.page import ACTIVE, ENDED, Page

CONFLICT, NOT_FOUND = "conflict", "not_found"
ENDED_JOB = ("succeeded", "failed", "cancelled")


class Say:
    """Send a message until its invocation has ended.

    Args:
        client_id: Id of the message.
        text: Text of the message.
        replaces: Id of the invocation that an edit replaces. The server refuses edits while an invocation runs.
        stop_at: Moment to stop the invocation: never, at its first frame, or after its first partial event.
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
        invocation = page.invocations.get(self._client_id)
        if invocation is None or invocation.status not in ACTIVE:
            return
        has_text = invocation.id in page.streamed_invocations
        if self._stop_at == "start" or (self._stop_at == "word" and has_text):
            yield {"type": "cancel", "invocation_id": invocation.id}

    def may_be_refused(self, code: str) -> bool:
        if code == NOT_FOUND:
            # The server rewound, died before it stored the message, and the session has gone on since:
            # the replaced invocation no longer exists, so send the message without an edit.
            self._replaces = ""
        return code in self._may_be_refused


class TurnBack:
    """Switch to the version that an event is part of. The server refuses switches while an invocation runs.

    The page can learn that the edit's invocation has ended before it has the rewind event of the edit.
    Until then the replaced event still counts as effective.
    """

    def __init__(self, seq: int) -> None:
        self._seq = seq
        self._was_replaced = False

    def is_over(self, page: Page) -> bool:
        is_effective = page.is_effective(self._seq)
        self._was_replaced = self._was_replaced or not is_effective
        return self._was_replaced and is_effective

    def frames(self, page: Page) -> Iterator[Frame]:
        if self._was_replaced:
            yield {"type": "switch", "seq": self._seq}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT


class Confirm:
    """Confirm or reject the call of the message's invocation until the log contains the function response."""

    request = REQUEST_CONFIRMATION
    answers_before = 0

    def __init__(self, client_id: str, *, confirmed: bool) -> None:
        self._client_id, self._confirmed = client_id, confirmed

    def is_over(self, page: Page) -> bool:
        if page.status(self._client_id) not in ("waiting", "completed"):
            return True  # the invocation ended without asking for a confirmation
        call_id = self._call_id(page)
        return call_id is not None and page.count_answers(call_id) > self.answers_before

    def frames(self, page: Page) -> Iterator[Frame]:
        call_id = self._call_id(page)
        if call_id is not None:
            yield {"type": "confirm", "call_id": call_id, "confirmed": self._confirmed}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT  # a frame on the previous connection has already answered

    def _call_id(self, page: Page) -> str | None:
        calls = page.calls(self._client_id)
        return next((id for id, name in calls.items() if name == self.request), None)


class AwaitRejection(Confirm):
    """Leave the call of the message's invocation alone until the site has rejected it."""

    def __init__(self, client_id: str) -> None:
        super().__init__(client_id, confirmed=False)

    def frames(self, page: Page) -> Iterator[Frame]:
        return iter(())


class AnswerQuestion(Confirm):
    """Answer the question of the message's workflow with a yes or no until the log contains one answer more.

    Args:
        answers_before: number of answers in the log; all of them are rewound.
    """

    request = REQUEST_INPUT

    def __init__(self, client_id: str, *, confirmed: bool, answers_before: int = 0) -> None:
        super().__init__(client_id, confirmed=confirmed)
        self.answers_before = answers_before

    def frames(self, page: Page) -> Iterator[Frame]:
        call_id = self._call_id(page)
        if call_id is not None:
            response = {"result": self._confirmed}
            yield {"type": "respond", "call_id": call_id, "name": REQUEST_INPUT, "response": response}

    def may_be_refused(self, code: str) -> bool:
        # The page may learn later that the question was rewound.
        return code in (CONFLICT, NOT_FOUND)


class StopJob:
    """Cancel the message's job once it runs, until it has ended."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id

    def is_over(self, page: Page) -> bool:
        job = page.job(self._client_id)
        if job is None:  # An invocation that fails may have begun its job before.
            return page.status(self._client_id) not in ("waiting", "completed")
        return job["status"] in ENDED_JOB

    def frames(self, page: Page) -> Iterator[Frame]:
        job = page.job(self._client_id)
        if job is not None and job["status"] == "running":
            yield {"type": "cancel_job", "id": job["id"]}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT


class AnswerJob:
    """Answer the question of the message's job until the job has taken the answer."""

    def __init__(self, client_id: str, *, answer: bool) -> None:
        self._client_id, self._answer = client_id, answer
        self._has_asked = False

    def is_over(self, page: Page) -> bool:
        if page.status(self._client_id) not in ("waiting", "completed"):
            return True  # the invocation ended without a job
        job = page.job(self._client_id)
        if job is None:
            return False
        self._has_asked = self._has_asked or job.get("question") is not None
        has_answer = self._has_asked and job.get("question") is None
        return has_answer or job["status"] in ENDED_JOB

    def frames(self, page: Page) -> Iterator[Frame]:
        job = page.job(self._client_id)
        if job is not None and job.get("question") is not None:
            number = job["question"]["number"]
            yield {"type": "answer_job", "id": job["id"], "number": number, "answer": self._answer}

    def may_be_refused(self, code: str) -> bool:
        return code == CONFLICT


class Read:
    """Read until the page has the log up to `seq`."""

    def __init__(self, seq: int) -> None:
        self._seq = seq

    def is_over(self, page: Page) -> bool:
        return page.seq >= self._seq

    def frames(self, page: Page) -> Iterator[Frame]:
        return iter(())

    def may_be_refused(self, code: str) -> bool:
        return False
