"""Limits per person and per address, across sockets and processes (docs/limits.md).

A second `Rates` or `OpenSockets` is what a second process has.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from channels.routing import URLRouter
from django.contrib.auth.models import User
from redis import Redis

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.conf import conf
from sessions_app.errors import LimitExceededError
from sessions_app.limits import shared_redis
from sessions_app.limits.open_sockets import OpenSockets
from sessions_app.limits.quotas import Quota
from sessions_app.limits.rates import Rates, rates
from sessions_app.models import Session
from sessions_app.process.threads import limit_threads
from sessions_app.routing import websocket_urlpatterns
from tests.fakes import ScriptedModel
from tests.integration.socket_tab import Websocket
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
Configure = Callable[..., None]
ADDRESS, OTHER_ADDRESS = "198.51.100.7", "198.51.100.8"


@pytest.fixture
def redis_away(settings: Any, redis: Redis) -> Callable[[], None]:
    """Return a function that takes Redis away in the middle of a test."""

    def leave() -> None:
        settings.REDIS_URL = "unix:///nowhere/redis.sock"

    return leave


@pytest.fixture
async def session(person: User, served: Served) -> Session:
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=ScriptedModel()))
    served(app)
    return await use_cases.create_session(person, "echo")


class Tab:
    """The browser's end of a socket."""

    def __init__(self, person: User, session: Session, address: str = ADDRESS) -> None:
        self.socket = Websocket(URLRouter(websocket_urlpatterns), f"/ws/chat/{session.pk}/")
        self.socket.scope.update(user=person, client=[address, 4000])

    async def connect(self) -> None:
        await self.socket.connect()

    async def ping(self) -> tuple[str, str]:
        """Send a ping; return type and message of the answer."""
        await self.socket.send_to(text_data=json.dumps({"v": 1, "type": "ping"}))
        return await self.answer()

    async def answer(self) -> tuple[str, str]:
        frame = json.loads(await self.socket.receive_from(timeout=5))
        return frame["type"], frame.get("message", "")

    async def close_code(self) -> int:
        return int((await self.socket.receive_output(timeout=5))["code"])

    async def leave(self) -> None:
        await self.socket.disconnect()


async def pings(tab: Tab, times: int) -> list[str]:
    return [(await tab.ping())[0] for _ in range(times)]


async def test_frames_of_a_person_are_counted_over_all_sockets(
    person: User, session: Session, configure: Configure
) -> None:
    configure(max_frames_per_user=10)
    first, second = Tab(person, session), Tab(person, session, OTHER_ADDRESS)
    await first.connect()
    await second.connect()
    assert await pings(first, 5) == await pings(second, 5) == ["pong"] * 5
    kind, message = await second.ping()
    assert (kind, message) == ("error", "Requests are limited to 10 a minute. Wait a minute.")
    assert await second.close_code() == 4429
    await first.leave()


async def test_frames_of_an_address_are_counted_over_all_people(
    person: User, session: Session, configure: Configure
) -> None:
    configure(max_frames_per_user=0, max_frames_per_address=3)
    eve = await User.objects.acreate_user("eve")
    of_eve = await use_cases.create_session(eve, "echo")
    tab, tab_of_eve, elsewhere = Tab(person, session), Tab(eve, of_eve), Tab(eve, of_eve, OTHER_ADDRESS)
    for each in (tab, tab_of_eve, elsewhere):
        await each.connect()
    assert [*await pings(tab, 2), *await pings(tab_of_eve, 2)] == ["pong"] * 3 + ["error"]
    assert await pings(elsewhere, 3) == ["pong"] * 3
    await tab.leave()
    await elsewhere.leave()


def test_processes_share_their_counts(redis: Redis) -> None:
    quota = [Quota("frames:person:1", 10, 60)]
    one, other = Rates(), Rates()
    assert [one.count(quota) for _ in range(6)] == [None] * 6
    one.flush()
    assert [other.count(quota) for _ in range(4)] == [None] * 4
    other.flush()
    exceeded = other.count(quota)
    assert exceeded is not None and exceeded.quota == quota[0]
    left = redis.pttl(f"{shared_redis.PREFIX}frames:person:1") / 1000
    assert left - 0.01 <= exceeded.seconds <= 60


def test_a_count_that_must_be_exact_is_exact_for_threads_of_two_processes() -> None:
    quota = [Quota("sessions:person:1", 10, 3600)]
    one, other = Rates(), Rates()
    accepted: list[bool] = []
    begin = threading.Barrier(20)

    def create(process: Rates) -> None:
        begin.wait()
        accepted.append(process.count_now(quota) is None)

    threads = [threading.Thread(target=create, args=[process]) for process in (one, other) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(accepted) <= 10 < len(accepted)
    assert Rates().count_now(quota) is not None


def test_counting_begins_anew_when_the_window_of_redis_has_passed(redis: Redis) -> None:
    quota = [Quota("sessions:person:1", 1, 3600)]
    process, key = Rates(), f"{shared_redis.PREFIX}sessions:person:1"
    assert process.count_now(quota) is None
    assert process.count_now(quota) is not None
    assert 0 < redis.ttl(key) <= 3600
    redis.pexpire(key, 1)
    while redis.exists(key):
        pass
    assert Rates().count_now(quota) is None


def test_a_process_counts_for_itself_while_redis_is_away_and_shares_its_count_later(
    redis_away: Callable[[], None], settings: Any
) -> None:
    quota = [Quota("sessions:person:1", 4, 3600)]
    url = settings.REDIS_URL
    one, other = Rates(), Rates()
    assert one.count_now(quota) is None
    redis_away()
    assert [one.count_now(quota) is None for _ in range(4)] == [True, True, True, False]
    assert other.count_now(quota) is None
    settings.REDIS_URL, shared_redis._away_until = url, 0.0
    one.flush()
    assert other.count_now(quota) is not None


async def test_open_sockets_of_a_person_are_limited_until_one_is_closed(
    person: User, session: Session, configure: Configure
) -> None:
    configure(max_sockets_per_user=2)
    tabs = [Tab(person, session, address) for address in (ADDRESS, OTHER_ADDRESS, ADDRESS)]
    for tab in tabs:
        await tab.connect()
    assert await tabs[2].answer() == (
        "error",
        "2 connections are open already. Close other tabs or programs that use this site.",
    )
    assert await tabs[2].close_code() == 4429
    await tabs[2].leave()
    await tabs[0].leave()
    again = Tab(person, session)
    await again.connect()
    assert (await again.ping())[0] == "pong"
    await again.leave()
    await tabs[1].leave()


async def test_the_place_of_a_closed_socket_is_free_at_once() -> None:
    quota, sockets = [Quota(f"sockets:person:{uuid4().hex}", 1)], OpenSockets()
    for _ in range(1000):  # the thread that tells Redis of a closed socket may come after the one of the next
        socket_id = await sockets.open(quota)
        assert isinstance(socket_id, str)
        sockets.close(socket_id)


async def test_sockets_that_close_together_do_not_burden_those_of_others(redis: Redis) -> None:
    sockets, threads_may_go_on = OpenSockets(), threading.Event()
    subjects = [[Quota(f"sockets:person:{uuid4().hex}", 1)] for _ in range(100)]
    closed = [await sockets.open(subject) for subject in subjects[:50]]
    redis.config_resetstat()
    for _ in range(conf().limit_threads):
        limit_threads.executor.submit(threads_may_go_on.wait)
    for socket_id in closed:
        sockets.close(socket_id)
    opening = asyncio.gather(*(sockets.open(subject) for subject in subjects[50:]))
    await asyncio.sleep(0)  # begins them all
    threads_may_go_on.set()
    assert all(isinstance(opened, str) for opened in await opening)
    all_threads = threading.Barrier(conf().limit_threads + 1)
    for _ in range(conf().limit_threads):
        limit_threads.executor.submit(all_threads.wait)
    await asyncio.to_thread(all_threads.wait)  # each of them has told Redis of its closed sockets
    commands = cast(dict[str, dict[str, int]], redis.info("commandstats"))
    assert commands["cmdstat_zrem"]["calls"] == 50


async def test_open_sockets_are_counted_over_processes_and_those_of_a_dead_one_expire(redis: Redis) -> None:
    key = f"sockets:person:{uuid4().hex}"
    quota = [Quota(key, 2)]
    one, other, third = OpenSockets(), OpenSockets(), OpenSockets()
    assert isinstance(await one.open(quota), str)
    assert isinstance(await other.open(quota), str)
    with pytest.raises(LimitExceededError):
        await third.open(quota)
    redis.delete(shared_redis.PREFIX + key)  # Redis has lost its data
    one.renew()
    other.renew()
    with pytest.raises(LimitExceededError):
        await third.open(quota)
    members = cast(list[bytes], redis.zrange(shared_redis.PREFIX + key, 0, 0))
    redis.zadd(shared_redis.PREFIX + key, dict.fromkeys(members, 1))  # not renewed for a long time
    assert isinstance(await third.open(quota), str)


async def test_a_process_that_shuts_down_gives_its_places_to_others() -> None:
    quota = [Quota("sockets:person:1", 2)]
    one, other = OpenSockets(), OpenSockets()
    for _ in range(2):
        assert isinstance(await one.open(quota), str)
    await one.close_all()
    one.renew()
    for _ in range(2):
        assert isinstance(await other.open(quota), str)
    with pytest.raises(LimitExceededError):
        await other.open(quota)


async def test_a_redis_that_hangs_delays_few_sockets_and_no_frame(settings: Any, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "redis.sock"))
        silent.listen()
        settings.REDIS_URL = f"unix://{tmp_path / 'redis.sock'}"
        sockets, frames = OpenSockets(), Rates()
        began = time.monotonic()
        opened = [await sockets.open([Quota("sockets:person:1", 20)]) for _ in range(20)]
        assert time.monotonic() - began < 4
        assert all(isinstance(each, str) for each in opened)
        with pytest.raises(LimitExceededError):
            await sockets.open([Quota("sockets:person:1", 20)])
        shared_redis._away_until = 0.0
        flushing = threading.Thread(target=frames.flush)
        quota = [Quota("frames:person:1", 100, 60)]
        frames.count(quota)
        flushing.start()
        counted = 0
        while flushing.is_alive():
            frames.count(quota)
            counted += 1
        assert counted > 100  # None of them waited for Redis.
        assert frames.count(quota) is not None


async def test_a_process_limits_its_own_sockets_while_redis_is_away(redis_away: Callable[[], None]) -> None:
    quota = [Quota("sockets:person:1", 2)]
    process = OpenSockets()
    first = await process.open(quota)
    redis_away()
    assert isinstance(await process.open(quota), str)
    with pytest.raises(LimitExceededError):
        await process.open(quota)
    assert isinstance(first, str)
    process.close(first)
    assert isinstance(await process.open(quota), str)


async def test_new_sessions_are_limited_for_a_person_and_for_an_address(
    person: User, configure: Configure, served: Served
) -> None:
    app = App(name="echo", root_agent=LlmAgent(name="echo", model=ScriptedModel()))
    served(app)
    configure(
        max_new_sessions_per_user=4, max_new_sessions_per_address=2
    )  # a refused one counts for the person
    for network, is_refused in (("a", False), ("a", False), ("a", True), ("b", False), ("c", True)):
        by = actors.person(person)
        first = use_cases.send_message(by, use_cases.NewChat(uuid4(), "echo", network), "m1", "Hello")
        if is_refused:
            with pytest.raises(LimitExceededError, match="chats were begun here within an hour"):
                await first
        else:
            await first
    assert await Session.objects.acount() == 3


async def test_without_limits_nothing_is_counted(
    person: User, session: Session, configure: Configure, redis: Redis
) -> None:
    names = ("frames", "sockets", "new_sessions")
    configure(**{f"{name}_per_{subject}": 0 for name in names for subject in ("person", "address")})
    tab = Tab(person, session)
    await tab.connect()
    assert await pings(tab, 20) == ["pong"] * 20
    await tab.leave()
    rates().flush()
    assert not redis.exists(f"{shared_redis.PREFIX}frames:person:{person.pk}")
