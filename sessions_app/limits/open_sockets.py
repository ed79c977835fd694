"""Open sockets of each person and address, in all processes.

Redis has a sorted set of sockets for each person and address. The score of a socket is the time of its expiry, moved on
by its process every `RENEW_SECONDS`, so the sockets of a dead process expire. A counter could not do this: nobody would
subtract the sockets of a killed process. Without Redis each process counts its own sockets.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import cast
from uuid import uuid4

from redis import Redis

from sessions_app.errors import LimitExceededError
from sessions_app.limits.quotas import Quota
from sessions_app.limits.shared_redis import PREFIX, attempt, tick
from sessions_app.process.threads import limit_threads

EXPIRY_SECONDS, RENEW_SECONDS = 60, 20.0
SUBJECTS_PER_CALL = 500
RETRY_SECONDS = 5.0

# A script, because check and addition must be one step: sockets opened at the same time would each find room.
# Redis's clock decides: the clocks of machines differ.
_OPEN = """
local now = tonumber(redis.call('TIME')[1])
for i, key in ipairs(KEYS) do
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    if redis.call('ZCARD', key) >= tonumber(ARGV[2 + i]) then return i end
end
for _, key in ipairs(KEYS) do
    redis.call('ZADD', key, now + ARGV[1], ARGV[2])
    redis.call('EXPIRE', key, ARGV[1])
end
return 0
"""
_RENEW = """
local expires = redis.call('TIME')[1] + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], expires, ARGV[i]) end
return redis.call('EXPIRE', KEYS[1], ARGV[1])
"""


class OpenSockets:
    """Open sockets of this process, safe to use from all threads."""

    def __init__(self) -> None:
        self._keys: dict[str, list[str]] = {}
        # Sockets by key, until they are removed from Redis.
        self._closing: defaultdict[str, set[str]] = defaultdict(set)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    async def open(self, quotas: Sequence[Quota]) -> str:
        """Count a socket and return its new id.

        Raises:
            LimitExceededError: a quota is full.
        """
        socket_id = uuid4().hex
        # This process's own count first: it spares Redis the round trip of refused sockets.
        exceeded = self._add(socket_id, quotas)
        if exceeded is None and quotas:
            place = await limit_threads.run(attempt, partial(self._open, socket_id, quotas))
            exceeded = quotas[place - 1] if place else None
            if exceeded is not None:
                self._remove(socket_id)
        if exceeded is not None:
            raise LimitExceededError(
                f"{exceeded.most} connections are open already. "
                "Close other tabs or programs that use this site.",
                retry_seconds=RETRY_SECONDS,
            )
        return socket_id

    def close(self, socket_id: str) -> None:
        """Stop counting the socket. Idempotent; a thread removes the socket from Redis."""
        keys = self._remove(socket_id)
        if keys:
            with self._lock:
                for key in keys:
                    self._closing[key].add(socket_id)
            limit_threads.executor.submit(self._tell_closed, socket_id, keys)

    async def close_all(self) -> None:
        """Stop counting all sockets of this process: people can connect to another process immediately."""
        with self._lock:
            closing = _by_key(self._keys)
            self._keys = {}
            self._counts.clear()
        if closing:
            await limit_threads.run(attempt, partial(_close, closing))

    def renew(self) -> None:
        """Renew the sockets in Redis, also in a Redis that has lost its data."""
        with self._lock:
            subjects = list(_by_key(self._keys).items())
        for start in range(0, len(subjects), SUBJECTS_PER_CALL):
            attempt(partial(_renew, subjects[start : start + SUBJECTS_PER_CALL]))

    def _open(self, socket_id: str, quotas: Sequence[Quota], redis: Redis) -> int:
        """Add the socket to its sets in Redis and return 0, or return the place of the first full set, from 1."""
        # Remove closed sockets first: their thread may come later than the next socket of a reloaded page.
        with self._lock:
            closing = {
                each.key: list(self._closing[each.key]) for each in quotas if each.key in self._closing
            }
        if closing:
            _close(closing, redis)
        keys = [PREFIX + quota.key for quota in quotas]
        most = [quota.most for quota in quotas]
        return cast(int, redis.register_script(_OPEN)(keys, [EXPIRY_SECONDS, socket_id, *most]))

    def _tell_closed(self, socket_id: str, keys: Sequence[str]) -> None:
        attempt(partial(_close, _by_key({socket_id: keys})))
        with self._lock:
            for key in keys:
                self._closing[key].discard(socket_id)
                if not self._closing[key]:
                    del self._closing[key]

    def _add(self, socket_id: str, quotas: Sequence[Quota]) -> Quota | None:
        with self._lock:
            for quota in quotas:
                if self._counts[quota.key] >= quota.most:
                    return quota
            self._keys[socket_id] = [quota.key for quota in quotas]
            self._counts.update(self._keys[socket_id])
        return None

    def _remove(self, socket_id: str) -> list[str]:
        with self._lock:
            keys = self._keys.pop(socket_id, [])
            self._counts.subtract(keys)
            for key in keys:
                if not self._counts[key]:
                    del self._counts[key]
        return keys


def _by_key(sockets: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return socket ids by key, from the keys of each socket id in `sockets`."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for socket_id, keys in sockets.items():
        for key in keys:
            found[key].append(socket_id)
    return found


def _close(sockets: Mapping[str, Sequence[str]], redis: Redis) -> None:
    with redis.pipeline(transaction=False) as pipeline:
        for key, socket_ids in sockets.items():
            pipeline.zrem(PREFIX + key, *socket_ids)
        pipeline.execute()


def _renew(sockets: Sequence[tuple[str, list[str]]], redis: Redis) -> None:
    renew = redis.register_script(_RENEW)
    with redis.pipeline(transaction=False) as pipeline:
        for key, socket_ids in sockets:
            renew([PREFIX + key], [EXPIRY_SECONDS, *socket_ids], client=pipeline)
        pipeline.execute()


@lru_cache(maxsize=1)
def open_sockets() -> OpenSockets:
    """Return the open sockets of this process; the first call starts the renewing thread."""
    sockets = OpenSockets()
    tick(RENEW_SECONDS, sockets.renew, "adk limits: renew sockets")
    return sockets


async def close_open_sockets() -> None:
    """Stop counting the sockets of this process, because the process ends."""
    if open_sockets.cache_info().currsize:
        await open_sockets().close_all()
