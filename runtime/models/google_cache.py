"""Gemini's context cache: store the beginning of a request at the provider (`App.context_cache_config`)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from runtime import _platform, types
from runtime.models.context_cache_config import ContextCacheConfig
from runtime.models.google_errors import FAILURES
from runtime.models.google_request import with_contents
from runtime.models.llm_request import LlmRequest
from runtime.models.request_contents import is_user_message

logger = logging.getLogger(__name__)

Create = Callable[[types.CreateCachedContentConfigDict], Awaitable[types.CachedContent]]

_SETTINGS = {"system_instruction", "tools", "tool_config"}
_BYTES_PER_TOKEN = 4
_FAILURES: tuple[type[Exception], ...] = (*FAILURES.exceptions, ValueError)


@dataclass
class CachedPrefix:
    """A cached content that replaces the instruction, the tools and the first `length` contents of a request.

    `name` is None when Gemini refused to cache them. The refusal counts for as long as a cached content would be
    used, so that the same prefix is not offered with every request.
    """

    name: str | None
    length: int
    expires: float
    uses: int = 0

    def remaining_request(self, request: LlmRequest) -> LlmRequest:
        """Return a new request without the cached part, which it references by name."""
        settings = {**dict.fromkeys(_SETTINGS), "cached_content": self.name}
        config = request.config.model_copy(update=settings)
        return request.model_copy(update={"contents": request.contents[self.length :], "config": config})


class PrefixCache:
    """The cached contents that this process created, at most `max_entries`; the oldest is dropped first."""

    def __init__(self, max_entries: int = 1000) -> None:
        self._max_entries = max_entries
        self._prefixes: dict[str, CachedPrefix] = {}

    async def find_or_create(self, request: LlmRequest, origin: str, create: Create) -> CachedPrefix | None:
        """Return the longest usable prefix of the request; if there is none, cache everything before the last turn.

        The result is None when the whole request must be sent: it is not cacheable, or Gemini refused to cache it.

        Args:
            origin: the model, the server and the account, as one text. A cached content exists for these only.
            create: function that stores a content at Gemini.
        """
        settings = request.cache_config
        if settings is None or not _is_cacheable(request.config):
            return None
        stable = request.contents[: _start_of_last_turn(request.contents)]
        keys, size = _fingerprints(origin, request.config, stable)
        if size == 0 or size // _BYTES_PER_TOKEN < settings.min_tokens:
            return None
        prefix = self._longest_usable(keys, settings)
        if prefix is None:
            prefix = await _create_prefix(create, request.config, stable, settings)
            self._remember(keys[-1], prefix)
        prefix.uses += 1
        return prefix if prefix.name is not None else None

    def forget(self, prefix: CachedPrefix) -> None:
        """Remove a prefix that Gemini no longer has."""
        self._prefixes = {key: kept for key, kept in list(self._prefixes.items()) if kept is not prefix}

    def _longest_usable(self, keys: Sequence[str], settings: ContextCacheConfig) -> CachedPrefix | None:
        for key in reversed(keys):
            prefix = self._prefixes.get(key)
            if prefix is not None:
                is_usable = prefix.uses < settings.cache_intervals and _platform.now() < prefix.expires
                return prefix if is_usable else None
        return None

    def _remember(self, key: str, prefix: CachedPrefix) -> None:
        self._prefixes.pop(key, None)
        self._prefixes[key] = prefix
        if len(self._prefixes) > self._max_entries:
            self._prefixes.pop(next(iter(self._prefixes)), None)


def _is_cacheable(config: types.GenerateContentConfig) -> bool:
    """False when the config names a cached content of its own or has tools that google-genai must convert."""
    return config.cached_content is None and all(isinstance(tool, types.Tool) for tool in config.tools or [])


def _start_of_last_turn(contents: Sequence[types.Content]) -> int:
    """Return the index of the first of the person's latest messages."""
    end = len(contents)
    while end > 0 and not is_user_message(contents[end - 1]):
        end -= 1
    while end > 0 and is_user_message(contents[end - 1]):
        end -= 1
    return end


def _fingerprints(
    origin: str, config: types.GenerateContentConfig, contents: Sequence[types.Content]
) -> tuple[list[str], int]:
    """Return the fingerprint of every prefix, shortest first (the first has no contents), and the longest's size."""
    settings = config.model_dump_json(include=_SETTINGS, exclude_none=True)
    digest = hashlib.sha256(f"{origin}\n{settings}".encode())
    fingerprints = [digest.hexdigest()]
    size = len(settings) - len("{}")
    for content in contents:
        serialized = content.model_dump_json(exclude_none=True).encode()
        digest.update(b"\n" + serialized)
        fingerprints.append(digest.hexdigest())
        size += len(serialized)
    return fingerprints, size


async def _create_prefix(
    create: Create,
    config: types.GenerateContentConfig,
    contents: list[types.Content],
    settings: ContextCacheConfig,
) -> CachedPrefix:
    # An `extra_body` of the agent is meant for model calls, not for this call.
    options = (config.http_options or types.HttpOptions()).model_copy(update={"extra_body": None})
    payload = {
        **{name: value for name, value in dict(config).items() if name in _SETTINGS},
        "ttl": f"{settings.ttl_seconds}s",
        "http_options": with_contents(options, contents),
    }
    expires = _platform.now() + settings.ttl_seconds
    try:
        cached = await create(cast("types.CreateCachedContentConfigDict", payload))
    except _FAILURES as failure:
        logger.warning("Gemini refused to cache the context; sending the whole request: %s", failure)
        return CachedPrefix(None, len(contents), expires)
    if cached.expire_time is not None:
        expires = cached.expire_time.timestamp()
    return CachedPrefix(cached.name, len(contents), expires)
