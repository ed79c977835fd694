"""Requests for embeddings and their answers, in the protocols of Gemini and OpenAI."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.model_script import Failure, Json

_GEMINI_PATH = re.compile(r"/v1(?:beta)?/models/[^:]+:batchEmbedContents")
_OPENAI_PATH = "/v1/embeddings"


@dataclass
class EmbeddingServer:
    """What the model server answers to requests for embeddings.

    Attributes:
        vector_of: returns the vector of a text.
        fails: returns the failure that answers a request for these texts; None to answer with vectors.
        is_held: True to wait for a release before each answer.
        batches: the texts of all requests.
        bodies: the bodies of all requests.
    """

    vector_of: Callable[[str], Sequence[float]] = lambda text: [1.0, 0.0]
    fails: Callable[[list[str]], Failure | None] = lambda texts: None
    is_held: bool = False
    batches: list[list[str]] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)


def texts_to_embed(path: str, body: Json) -> list[str] | None:
    """Return the texts of a request for embeddings; None if the path is another's."""
    if path == _OPENAI_PATH:
        return [str(text) for text in body["input"]]
    if _GEMINI_PATH.fullmatch(path):
        return [request["content"]["parts"][0]["text"] for request in body["requests"]]
    return None


def answer_with(path: str, vectors: Sequence[Sequence[float]], tokens: int) -> Json:
    if path == _OPENAI_PATH:
        # In reverse: the index counts, not the order.
        data = [
            {"object": "embedding", "index": index, "embedding": list(vector)}
            for index, vector in reversed(list(enumerate(vectors)))
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": "served", "usage": usage}
    return {"embeddings": [{"values": list(vector)} for vector in vectors]}
