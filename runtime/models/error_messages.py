"""Sentences for people, by the code of a model error. The provider's own text may name projects, hosts and limits."""

from __future__ import annotations

_OVERLOADED = "The model is overloaded. Try again in a moment."
_UNUSABLE = "The model cannot be used at the moment. Tell the people who run this site."
_SENTENCES = {
    "RESOURCE_EXHAUSTED": _OVERLOADED,
    "UNAVAILABLE": _OVERLOADED,
    "DEADLINE_EXCEEDED": "The model did not answer in time. Try again in a moment.",
    "INVALID_ARGUMENT": "The model refused the request. Try again, or begin a new conversation.",
    "UNAUTHENTICATED": _UNUSABLE,
    "PERMISSION_DENIED": _UNUSABLE,
    "NOT_FOUND": _UNUSABLE,
    "INVALID_RESPONSE": "The model's server sent a response that cannot be read. Try again in a moment.",
    "STREAM_CUT": "The connection to the model broke in the middle of its answer.",
}


def sentence_for(code: str) -> str:
    """Return the sentence for a code."""
    return _SENTENCES.get(code, "The model could not answer. Try again in a moment.")
