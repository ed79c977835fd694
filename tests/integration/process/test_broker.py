"""Contract: an entry of the broker that cannot be read is set aside and logged, and workers take the next one."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from celery import Task
from celery.contrib.testing.worker import start_worker
from django.conf import settings
from redis import Redis

from adk_site.celery import app
from sessions_app.process.broker import KEY_SET_ASIDE, SET_ASIDE

QUEUE = "unreadable-entries"
UNACKNOWLEDGED, INDEX = "unacked", "unacked_index"
"""Hash of the messages that a worker has taken, and the sorted set of their times, as kombu names them."""
ROUTE = {"exchange": "", "routing_key": QUEUE}
WAIT_SECONDS = 60.0


@pytest.fixture
def broker(servers: None) -> Iterator[Redis]:
    with Redis.from_url(settings.REDIS_URL) as client:
        client.delete(QUEUE, SET_ASIDE)
        yield client
        client.delete(QUEUE, SET_ASIDE)


@pytest.fixture
def told() -> Iterator[list[logging.LogRecord]]:
    """What the broker's channel logs. The handlers and the level of the root, which a worker replaces, are kept."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    broker_logger = logging.getLogger("sessions_app.process.broker")
    broker_logger.addHandler(handler)
    yield records
    broker_logger.removeHandler(handler)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def done() -> Iterator[threading.Event]:
    """Event that the task `tests.done` sets."""
    event = threading.Event()
    task: Task[Any, Any] = app.task(name="tests.done", ignore_result=True)(event.set)
    yield event
    app.tasks.unregister(task.name)


def _message(headers: Any, **properties: Any) -> bytes:
    """Return a message in the broker's format with these headers."""
    known = {"delivery_tag": str(uuid4()), "delivery_info": ROUTE, "body_encoding": "base64"}
    fields = {"body": "W10=", "content-type": "application/json", "content-encoding": "utf-8"}
    return json.dumps({**fields, "headers": headers, "properties": known | properties}).encode()


def test_a_worker_sets_unreadable_messages_aside_and_runs_the_next_task(
    broker: Redis, done: threading.Event, told: list[logging.LogRecord]
) -> None:
    task = "tests.done"
    waiting = [
        *(b"no JSON", b"\xff", b"", b"5", b"[]", b"null", b"{}", b"[" * 100_000),
        *(_message("text"), _message([1]), _message({"task": {}}), _message({"task": task})),
        _message({"task": task, "id": "1"}, delivery_tag=[1]),
        _message({"task": task, "id": "1"}, delivery_info="text"),
        _message({"task": task, "id": "1"}, delivery_info={}),
        _message({"task": task, "id": "1"}, body_encoding="unknown"),
    ]
    taken_by_a_dead_worker = [b"no JSON", b"\xff", b"5", b"null", b"[1]"]
    broker.rpush(QUEUE, *waiting)
    for number, entry in enumerate(taken_by_a_dead_worker):
        broker.hset(UNACKNOWLEDGED, f"tag {number}", entry)
        broker.zadd(INDEX, {f"tag {number}": 1})
    app.send_task(task, queue=QUEUE, ignore_result=True)

    with start_worker(app, pool="solo", queues=[QUEUE], perform_ping_check=False):
        assert done.wait(WAIT_SECONDS), "the worker has not run the task behind the unreadable messages"

    assert broker.llen(SET_ASIDE) == len(waiting) + len(taken_by_a_dead_worker)
    assert set(taken_by_a_dead_worker) <= set(broker.lrange(SET_ASIDE, 0, -1))
    assert broker.llen(QUEUE) == broker.hlen(UNACKNOWLEDGED) == 0
    assert {record.levelno for record in told} == {logging.ERROR}
    assert SET_ASIDE in told[0].getMessage()


def test_a_worker_sets_keys_of_the_wrong_type_aside(
    broker: Redis, done: threading.Event, told: list[logging.LogRecord]
) -> None:
    keys = [QUEUE, UNACKNOWLEDGED, INDEX, f"_kombu.binding.{QUEUE}"]
    for key in keys:
        broker.delete(key)
        broker.set(key, "of another program")

    with start_worker(app, pool="solo", queues=[QUEUE], perform_ping_check=False):
        app.send_task("tests.done", queue=QUEUE, ignore_result=True)
        assert done.wait(WAIT_SECONDS), "the worker has not started, or not run the task"

    for key in keys:
        assert broker.getdel(KEY_SET_ASIDE % key) == b"of another program"
    assert {str(record.args[0]) for record in told if isinstance(record.args, tuple)} == set(keys)


def test_a_channel_of_a_closed_connection_raises_an_error_of_the_connection(broker: Redis) -> None:
    """A worker that has lost Redis closes its channels twice. It outlives such an error only."""
    connection = app.connection_for_read()
    channel: Any = connection.default_channel
    connection.collect()
    with pytest.raises(connection.connection_errors), channel.conn_or_acquire():
        pass
