"""Assemble the chunks of a streamed answer.

Readers get each chunk's text immediately as a partial response, and the log stores a response with the whole answer.
`StreamedAnswer` collects the chunks for the latter. A stream without a finish reason was cut, even if the connection
closed normally.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol, TypeVar

from pydantic import BaseModel

from runtime import types
from runtime.errors import ModelError
from runtime.models.failures import MAX_ANSWER_BYTES, FailureReader, model_error, stream_cut
from runtime.models.llm_response import LlmResponse, parts_in

M = TypeVar("M", bound=BaseModel)
C = TypeVar("C", bound="Chunks")

# A part with any other field, such as a thought signature, must be sent back unchanged and is never joined.
_TEXT_FIELDS = {"text", "thought"}


class Chunks(Protocol):
    """Chunks of a streamed answer. `next` returns None at the end; `aclose` closes the connection."""

    async def next(self) -> types.GenerateContentResponse | None: ...

    async def aclose(self) -> None: ...


async def with_first_chunk(chunks: C) -> tuple[C, types.GenerateContentResponse | None]:
    """Return the chunks and their first one, which is read within the retries: some servers fail only then."""
    try:
        return chunks, await chunks.next()
    except BaseException:
        # The caller has no reference yet, so nobody else can close the connection. Also for a cancelled call.
        await chunks.aclose()
        raise


async def assemble(
    chunks: Chunks, first: types.GenerateContentResponse | None, failures: FailureReader
) -> AsyncGenerator[LlmResponse, None]:
    """Yield a partial response for each chunk, beginning with `first`, then the whole answer. Close the chunks.

    Raises:
        ModelError: the stream broke off before any part of the answer arrived.
    """
    answer = StreamedAnswer()
    failure = None
    chunk = first
    async with aclosing(chunks):
        while chunk is not None:
            partial = answer.add(chunk)
            if partial is not None:
                yield partial
            if answer.size > MAX_ANSWER_BYTES:
                failure = model_error(
                    "ANSWER_TOO_LARGE", f"The answer has more than {MAX_ANSWER_BYTES} bytes."
                )
                break
            try:
                chunk = await chunks.next()
            except failures.exceptions as exception:
                # Keep what has arrived: readers have seen it, so the call is not retried.
                failure = failures.read(exception).in_stream()
                break
    if failure is None and not answer.is_complete:
        failure = stream_cut()
    yield answer.final(failure)


class StreamedAnswer:
    """The answer so far, collected from its chunks (contract M2).

    Adjacent texts of one kind (answer or thought) are joined into one part. All other parts, and texts with a
    thought signature, are kept unchanged and in order. Usage and finish reason are taken from the last chunk that
    has them.

    Attributes:
        size: characters of all texts, and of the JSON of all other parts.
    """

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[types.Part] = []
        self._texts: list[str] = []
        self._is_thought = False
        self._citations: list[types.Citation] = []
        self._candidate = types.Candidate()  # fields of all chunks' first candidates; later chunks win
        self._response = types.GenerateContentResponse()

    @property
    def is_complete(self) -> bool:
        """True if a chunk contained a finish reason, or the reason for a refusal."""
        return self._candidate.finish_reason is not None or self._response.prompt_feedback is not None

    def add(self, chunk: types.GenerateContentResponse) -> LlmResponse | None:
        """Add the next chunk. Return its texts and thoughts as a partial response, or None if it has neither.

        A partial response carries the usage so far: if the user stops the answer, no later response reports it.
        """
        self._response = _update_fields(self._response, chunk)
        if not chunk.candidates:
            return None
        candidate = chunk.candidates[0]
        self._candidate = _update_fields(self._candidate, candidate)
        if candidate.citation_metadata is not None:
            self._citations.extend(candidate.citation_metadata.citations or [])
        parts = parts_in(candidate.content)
        for part in parts:
            self._add_part(part)
        texts = [part for part in parts if part.text]
        if not texts:
            return None
        return LlmResponse(
            content=types.Content(role="model", parts=texts),
            partial=True,
            usage_metadata=self._response.usage_metadata,
            model_version=self._response.model_version,
        )

    def final(self, failure: ModelError | None) -> LlmResponse:
        """Return the whole answer as a response.

        After a failure, the response holds the parts received so far, without function calls, and the failure's code
        and message.

        Raises:
            ModelError: the failure itself, when no part was received.
        """
        self._join_texts()
        parts = self._parts
        if failure is not None:
            # An incomplete answer must not execute anything.
            parts = [part for part in parts if not part.function_call]
            if not parts:
                raise failure
        self._candidate.content = None
        if parts:
            self._candidate.content = types.Content(role="model", parts=parts)
        if self._citations:
            self._candidate.citation_metadata = types.CitationMetadata(citations=self._citations)
        # Without a candidate, `LlmResponse.create` reports a refusal or an empty response.
        self._response.candidates = None
        if parts or self._candidate.finish_reason is not None:
            self._response.candidates = [self._candidate]
        response = LlmResponse.create(self._response)
        if failure is not None:
            response.error_code = failure.code
            response.error_message = failure.message
            response.error_detail = failure.detail or None
        return response

    def _add_part(self, part: types.Part) -> None:
        if part.text is None or not part.model_fields_set <= _TEXT_FIELDS:
            self.size += len(part.model_dump_json(exclude_none=True))
            self._join_texts()
            self._parts.append(part)
            return
        if not part.text:
            return
        if self._is_thought != bool(part.thought):
            self._join_texts()
            self._is_thought = bool(part.thought)
        self.size += len(part.text)
        self._texts.append(part.text)

    def _join_texts(self) -> None:
        if self._texts:
            self._parts.append(types.Part(text="".join(self._texts), thought=self._is_thought or None))
            self._texts = []


def _update_fields(current: M, newer: M) -> M:
    """Return a copy of `current`, updated with all fields set in `newer`."""
    return current.model_copy(update={name: value for name, value in newer if value is not None})
