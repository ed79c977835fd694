"""Gemini's context cache: store the beginning of a request at the provider (`App.context_cache_config`).

The instruction, the tools and the contents before the last turn are the same in many requests. `PrefixCache` stores
them at Gemini as a *cached content*, which costs less than sending them, and remembers its name under a fingerprint of
these data. A later request looks for the longest prefix with a known fingerprint, and sends only the rest with the
name. The names are kept in this process only; another process creates its own.
"""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from runtime import _platform, types
from runtime.models.google_client import FAILURES
from runtime.models.google_request import with_contents
from runtime.models.llm_request import ContextCacheConfig, LlmRequest
from runtime.models.request_contents import is_user_message

logger = logging.getLogger(__name__)

Create = Callable[[types.CreateCachedContentConfigDict], Awaitable[types.CachedContent]]

# Fields of a config that Gemini stores with the contents, and refuses in a request with a cached content.
_SETTINGS = {"system_instruction", "tools", "tool_config"}
# An estimate: counting tokens would need another call.
_BYTES_PER_TOKEN = 4
# google-genai raises ValueError for a config that it cannot send.
_FAILURES: tuple[type[Exception], ...] = (*FAILURES.exceptions, ValueError)


@dataclass
class CachedPrefix:
    """Cached content in place of the instruction, the tools and the first `length` contents of a request.

    `name` is None if Gemini refused to cache these data.
    """

    name: str | None
    length: int
    expires: float
    uses: int = 0

    def remaining_request(self, request: LlmRequest) -> LlmRequest:
        """Return a new request that refers to the cached part by name."""
        settings = {**dict.fromkeys(_SETTINGS), "cached_content": self.name}
        config = request.config.model_copy(update=settings)
        return request.model_copy(update={"contents": request.contents[self.length :], "config": config})


class PrefixCache:
    """Cached contents created by this process, at most `max_entries`; the oldest is dropped first."""

    def __init__(self, max_entries: int = 1000) -> None:
        self._max_entries = max_entries
        self._prefixes: dict[str, CachedPrefix] = {}

    async def find_or_create(self, request: LlmRequest, origin: str, create: Create) -> CachedPrefix | None:
        """Return the longest usable prefix of the request; if there is none, cache everything before the last turn.

        Return None if the whole request must be sent: it is not cacheable, or Gemini refused to cache it.

        Args:
            origin: model, server and account, as a text. A cached content exists only for this combination.
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
            # A refusal is remembered, too: otherwise the same prefix would be offered with every request.
            self._remember(keys[-1], prefix)
        prefix.uses += 1
        return prefix if prefix.name is not None else None

    def forget(self, prefix: CachedPrefix) -> None:
        """Remove a prefix that has expired at Gemini."""
        self._prefixes = {key: kept for key, kept in list(self._prefixes.items()) if kept is not prefix}

    def _longest_usable(self, keys: Sequence[str], settings: ContextCacheConfig) -> CachedPrefix | None:
        for key in reversed(keys):
            prefix = self._prefixes.get(key)
            if prefix is not None:
                is_usable = prefix.uses < settings.cache_intervals and _platform.now() < prefix.expires
                # Replace a prefix that has expired or is used up, rather than use a shorter prefix: more contents are
                # stable now.
                return prefix if is_usable else None
        return None

    def _remember(self, key: str, prefix: CachedPrefix) -> None:
        # Insert as the newest entry: an update would keep the position of the old one.
        self._prefixes.pop(key, None)
        self._prefixes[key] = prefix
        if len(self._prefixes) > self._max_entries:
            self._prefixes.pop(next(iter(self._prefixes)), None)


def _is_cacheable(config: types.GenerateContentConfig) -> bool:
    """Return False if the config names a cached content itself, or has tools that google-genai must convert."""
    return config.cached_content is None and all(isinstance(tool, types.Tool) for tool in config.tools or [])


def _start_of_last_turn(contents: Sequence[types.Content]) -> int:
    """Return the index of the first of the user's latest messages."""
    end = len(contents)
    while end > 0 and not is_user_message(contents[end - 1]):
        end -= 1
    while end > 0 and is_user_message(contents[end - 1]):
        end -= 1
    return end


def _fingerprints(
    origin: str, config: types.GenerateContentConfig, contents: Sequence[types.Content]
) -> tuple[list[str], int]:
    """Return the fingerprint of every prefix, shortest first (without contents), and the size of the longest prefix."""
    settings = config.model_dump_json(include=_SETTINGS, exclude_none=True)
    digest = hashlib.sha256(f"{origin}\n{settings}".encode())
    fingerprints = [digest.hexdigest()]
    size = len(settings) - len("{}")
    for content in contents:
        serialized = content.model_dump_json(exclude_none=True).encode()
        # One running digest, so the cost is linear in the length of the contents.
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
    # Taken before the call: our copy must not outlive Gemini's.
    expires = _platform.now() + settings.ttl_seconds
    try:
        cached = await create(cast("types.CreateCachedContentConfigDict", payload))
    except _FAILURES as failure:
        logger.warning("Gemini refused to cache the context; sending the whole request: %s", failure)
        return CachedPrefix(None, len(contents), expires)
    if cached.expire_time is not None:
        expires = cached.expire_time.timestamp()
    return CachedPrefix(cached.name, len(contents), expires)
