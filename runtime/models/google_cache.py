"""Beginnings of conversations that Gemini keeps, so that they are not sent again (`App.context_cache_config`)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from runtime import _platform, types
from runtime.models.context_cache_config import ContextCacheConfig
from runtime.models.google_errors import FAILURES
from runtime.models.google_request import with_contents
from runtime.models.llm_request import LlmRequest

logger = logging.getLogger(__name__)

Create = Callable[[types.CreateCachedContentConfigDict], Awaitable[types.CachedContent]]

_SETTINGS = {"system_instruction", "tools", "tool_config"}
_BYTES_PER_TOKEN = 4


@dataclass
class CachedPrefix:
    """A cached content: it stands for the instruction, the tools and the first `length` contents of a request.

    Without a name it tells that Gemini did not take them; they are not offered again for as long as a cached
    content is used.
    """

    name: str | None
    length: int
    expires: float
    uses: int = 0

    def rest_of(self, request: LlmRequest) -> LlmRequest:
        """What is left to send; the request stays as it is."""
        settings = {**dict.fromkeys(_SETTINGS), "cached_content": self.name}
        config = request.config.model_copy(update=settings)
        return replace(request, contents=request.contents[self.length :], config=config)


class PrefixCache:
    """What this process had Gemini keep, the latest `most` of it."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._known: dict[str, CachedPrefix] = {}

    async def prefix_of(self, request: LlmRequest, origin: str, create: Create) -> CachedPrefix | None:
        """The longest beginning of the request that Gemini keeps; what lies before the last turn if it keeps none.

        None when the whole request is to be sent: nothing is to be cached, or Gemini did not take it. `origin`
        names the model, and tells apart those who do not see each other's cached contents.
        """
        wanted = request.cache_config
        if wanted is None or not _is_cacheable(request.config):
            return None
        stable = request.contents[: _start_of_last_turn(request.contents)]
        keys, size = _fingerprints(origin, request.config, stable)
        if size == 0 or size // _BYTES_PER_TOKEN < wanted.min_tokens:
            return None
        prefix = self._latest(keys, wanted)
        if prefix is None:
            prefix = await _cached(create, request.config, stable, wanted)
            self._remember(keys[-1], prefix)
        prefix.uses += 1
        return prefix if prefix.name is not None else None

    def forget(self, prefix: CachedPrefix) -> None:
        """Use it no more."""
        self._known = {key: known for key, known in list(self._known.items()) if known is not prefix}

    def _latest(self, keys: Sequence[str], wanted: ContextCacheConfig) -> CachedPrefix | None:
        prefix = next((self._known[key] for key in reversed(keys) if key in self._known), None)
        if prefix is None or (prefix.uses < wanted.cache_intervals and _platform.now() < prefix.expires):
            return prefix
        return None

    def _remember(self, key: str, prefix: CachedPrefix) -> None:
        self._known.pop(key, None)
        self._known[key] = prefix
        if len(self._known) > self._most:
            self._known.pop(next(iter(self._known)), None)


def _is_cacheable(config: types.GenerateContentConfig) -> bool:
    """Not what has a cached content of its own, nor tools that only google-genai can declare."""
    return config.cached_content is None and all(isinstance(tool, types.Tool) for tool in config.tools or [])


def _start_of_last_turn(contents: Sequence[types.Content]) -> int:
    """Where the latest words of the person begin; a response stays with its call, which comes before it."""
    end = len(contents)
    while end > 0 and not _is_said_by_user(contents[end - 1]):
        end -= 1
    while end > 0 and _is_said_by_user(contents[end - 1]):
        end -= 1
    return end


def _is_said_by_user(content: types.Content) -> bool:
    return content.role == "user" and not any(part.function_response for part in content.parts or [])


def _fingerprints(
    origin: str, config: types.GenerateContentConfig, contents: Sequence[types.Content]
) -> tuple[list[str], int]:
    """One for each beginning, the shortest without contents; and the bytes of the longest."""
    settings = config.model_dump_json(include=_SETTINGS, exclude_none=True)
    digest = hashlib.sha256(f"{origin}\n{settings}".encode())
    fingerprints, size = [digest.hexdigest()], len(settings) - len("{}")
    for content in contents:
        written = content.model_dump_json(exclude_none=True).encode()
        digest.update(b"\n" + written)
        fingerprints.append(digest.hexdigest())
        size += len(written)
    return fingerprints, size


async def _cached(
    create: Create,
    config: types.GenerateContentConfig,
    contents: list[types.Content],
    wanted: ContextCacheConfig,
) -> CachedPrefix:
    # A body of the agent's own belongs to its questions.
    options = (config.http_options or types.HttpOptions()).model_copy(update={"extra_body": None})
    sent = {
        **{name: value for name, value in dict(config).items() if name in _SETTINGS},
        "ttl": f"{wanted.ttl_seconds}s",
        "http_options": with_contents(options, contents),
    }
    expires = _platform.now() + wanted.ttl_seconds
    try:
        cached = await create(cast("types.CreateCachedContentConfigDict", sent))
    except (*FAILURES, ValueError) as failure:
        logger.warning("Gemini does not cache the context, which is sent whole instead: %s", failure)
        return CachedPrefix(None, len(contents), expires)
    if cached.expire_time is not None:
        expires = cached.expire_time.timestamp()
    return CachedPrefix(cached.name, len(contents), expires)
