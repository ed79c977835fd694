"""Entries of the broker in Redis that cannot be read: they are set aside and logged, and no worker ends over them.

An entry of Redis can be of another program, of another version, or damaged. Celery ends its worker for most of them.
It puts some of them back when the worker ends, and then no worker starts any more. Nothing is lost with an entry: the
rows of PostgreSQL have the work, and the sweep asks for it again.

`_CheckedEntries` overrides `_create_client` of kombu's class, where the clients of a channel are made, and
`queue_declare`, which a worker calls before it reads a queue.
"""

import logging
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.worker.consumer import Consumer
from kombu.transport import TRANSPORT_ALIASES, redis
from kombu.transport.virtual import Message
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import dumps, loads
from redis.exceptions import ConnectionError as RedisConnectionError

from sessions_app.process.lost_servers import tcp_options

logger = logging.getLogger(__name__)
SET_ASIDE = "adk.unreadable"
"""Redis list of the entries that could not be read, the newest first."""
MAX_SET_ASIDE = 100
"""Entries that the list keeps."""
KEY_SET_ASIDE = f"{SET_ASIDE}.%s"
"""New name of a key of the broker with a value of the wrong type."""


def set_unreadable_messages_aside(app: Celery) -> None:
    """Let the workers of a Celery app survive what they cannot read in a broker of Redis. Call this after its settings.

    The transport is replaced for all Celery apps of the process.
    """
    # By its alias: the URL of a Unix socket leaves no choice of the transport.
    transport = f"{__name__}:{Transport.__name__}"
    TRANSPORT_ALIASES.update(
        redis=transport, rediss=transport, sentinel=f"{__name__}:{SentinelTransport.__name__}"
    )
    app.conf.worker_consumer = f"{__name__}:{TolerantConsumer.__name__}"


class _CheckedEntries(redis.Channel):
    """Channel that gives readable entries only to its consumers, and notices that Redis is gone."""

    # Unless the transport options of the broker have other values.
    socket_timeout = 15.0
    socket_connect_timeout = 5.0
    socket_keepalive = True
    socket_keepalive_options = tcp_options()  # type: ignore[assignment]  # kombu-stubs have names for numbers

    def set_aside(self, entry: bytes | str, error: Exception) -> None:
        """Move the entry to the list `SET_ASIDE`, and log the error."""
        with self.conn_or_acquire() as client:
            client.lpush(SET_ASIDE, entry)
            client.ltrim(SET_ASIDE, 0, MAX_SET_ASIDE - 1)
        logger.error(
            "A message of the broker could not be read (%r) and was set aside in the Redis list '%s'. "
            "The sweep asks again for all work that is due.",
            error,
            SET_ASIDE,
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rename_wrong_types({self.unacked_key: "hash", self.unacked_index_key: "zset"})

    def queue_declare(self, queue: str | None = None, passive: bool = False, **kwargs: Any) -> Any:
        """Declare a queue; a key of its name that is no queue is renamed before."""
        if queue is not None:
            self._rename_wrong_types({queue: "list", self.keyprefix_queue % queue: "set"})
        return super().queue_declare(queue, passive, **kwargs)

    def _rename_wrong_types(self, types: dict[str, str]) -> None:
        """Rename the keys that have another type: a worker would end over each of them."""
        with self.conn_or_acquire() as client:
            for key, expected in types.items():
                actual = bytes_to_str(client.type(key))
                if actual not in (expected, "none"):
                    client.rename(key, KEY_SET_ASIDE % key)
                    logger.error(
                        "The key '%s' of the broker has the type %s in place of %s. It was renamed to '%s'. "
                        "The sweep asks again for all work that is due.",
                        key,
                        actual,
                        expected,
                        KEY_SET_ASIDE % key,
                    )

    def _create_client(self, asynchronous: bool = False) -> Any:
        # A worker that has lost Redis closes its connection twice, the second time without this. kombu would raise an
        # AttributeError, which ends the worker; after an error of the connection the worker connects again.
        if self.connection is None or self.connection.client is None:
            raise RedisConnectionError("The connection to the broker is closed.")
        client = super()._create_client(asynchronous)  # type: ignore[misc]  # kombu-stubs lacks it
        client.set_response_callback("BRPOP", self._read_waiting)
        client.set_response_callback("HGET", self._read_unacknowledged)
        return client

    def _read_waiting(
        self, response: tuple[bytes, bytes] | None, **options: Any
    ) -> tuple[bytes, bytes] | None:
        """Return the queue and its entry; None if there is no entry, or if it was set aside."""
        if not response:
            return None
        queue, entry = response
        if not self._is_readable(entry, self._check_message):
            return None
        return queue, entry

    def _read_unacknowledged(self, entry: bytes | None, **options: Any) -> bytes | None:
        """Return the entry, which kombu gives back to its queue; None if it was set aside."""
        if entry is None or not self._is_readable(entry, _check_unacknowledged):
            return None
        return entry

    def _is_readable(self, entry: bytes, check: Callable[[Any], None]) -> bool:
        try:
            check(loads(bytes_to_str(entry)))
        # The entry may have any shape, and lists may be nested too deeply.
        except Exception as error:  # noqa: BLE001
            self.set_aside(entry, error)
            return False
        return True

    def _check_message(self, payload: Any) -> None:
        message = self.Message(payload, channel=self)
        if not isinstance(message.delivery_tag, str):
            raise TypeError("The message has no delivery tag.")
        if not isinstance(message.headers, dict):
            raise TypeError("The message has no headers.")
        _ = message.delivery_info["exchange"], message.delivery_info["routing_key"]


class _SentinelChannel(_CheckedEntries, redis.SentinelChannel):
    pass


class Transport(redis.Transport):
    """Transport of kombu for Redis, which gives readable entries only to its consumers."""

    Channel = _CheckedEntries


class SentinelTransport(redis.SentinelTransport):
    """The same for Redis behind Sentinel."""

    Channel = _SentinelChannel


class TolerantConsumer(Consumer):
    """Consumer of a worker that sets a message aside when Celery fails to make a task of it."""

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Message], None]:
        """Return the function that is called with each message."""
        handle = super().create_task_handler(*args, **kwargs)

        def handle_or_set_aside(message: Message) -> None:
            try:
                handle(message)
            # A header may have any value. With a broken connection, setting the message aside fails as well.
            except Exception as error:  # noqa: BLE001
                if isinstance(message.channel, _CheckedEntries):
                    message.channel.set_aside(dumps(message.serializable()), error)
                message.reject()

        return handle_or_set_aside


def _check_unacknowledged(stored: Any) -> None:
    _message, _exchange, _routing_key = stored
