"""Relay: carries news between processes over the channel layer, gathered into few messages.

Each process has a channel, and all channels are in one group. News of a session goes to the channels of its followers;
news for every process goes to the group. A process without followers sends no news of sessions.

    process A: a tab opens session S        process B: runs an invocation of S
      follow S  ----------- group ----------->  notes the follower, sends the text so far
      <----------------- channel of A --------  text, log positions, notices
      followed: [S, ...] -- group, every 30 s ->  replaces what B knows of A

Until a process has listened for the time of a heartbeat, it cannot know its followers and sends all news to the group.
News is gathered for `relay_seconds`; a cancel request and a sign-out go out immediately. A lost message delays news but
loses none: the slow tick reads PostgreSQL on every heartbeat. Waits for Redis end after a heartbeat: by then the slow
tick has read the news.
"""

import asyncio
import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID, uuid4

from channels.layers import get_channel_layer

from sessions_app.conf import conf
from sessions_app.live.followers import Followers, person_topic, session_of, session_topic
from sessions_app.live.hub import Hub, SessionRelay
from sessions_app.live.list_news import ListChange, ListRelay
from sessions_app.live.notices import Notice, notice_from, values_of
from sessions_app.live.streamed_text import StreamKey, TextChunk
from sessions_app.process.threads import wait_until_set

logger = logging.getLogger(__name__)
GROUP = "adk.live"
STOP = "stop"
FLUSH_SECONDS = 1.0
EVERYBODY = ""
"""Destination of news for all processes."""
MAX_NEWS = 1_000
"""Items of news kept for one destination while Redis is away; the oldest are dropped first."""
LIST_SECONDS = 30.0
"""Interval at which a process sends its topics to all others, in case messages were lost."""


class Relay(SessionRelay, ListRelay):
    """Connection to the other processes: sends them the news of a hub and of lists, and passes on theirs.

    Attributes:
        on_cancel: called with the id of an invocation to cancel, requested in another process.
        on_sign_out: called with the digest of a Django session, signed out elsewhere.
        on_account_change: called with the id of a person whose account was changed elsewhere.
        on_list_change: called with the id of a person whose list or activity was changed elsewhere, and the change.
        on_followed: called with the sessions whose news arrives from now on; earlier news may have been missed.
    """

    def __init__(self) -> None:
        self._process_id = uuid4().hex
        self._hub: Hub | None = None
        self._channel = ""
        self._followed: set[str] = set()
        self._has_untold_topics = False
        self._followers = Followers()
        self._knows_followers_at = math.inf
        self._unsent: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._sending: asyncio.Task[None] | None = None
        self._is_urgent = asyncio.Event()
        self._has_joined = asyncio.Event()
        self._is_stopped = False
        self._next_send_at = 0.0
        self.on_cancel: Callable[[str], object] | None = None
        self.on_sign_out: Callable[[str], object] | None = None
        self.on_account_change: Callable[[str], object] | None = None
        self.on_list_change: Callable[[str, ListChange], object] | None = None
        self.on_followed: Callable[[list[UUID]], object] | None = None

    # Following

    def follow(self, session_id: UUID) -> None:
        self._follow(session_topic(session_id))

    def unfollow(self, session_id: UUID) -> None:
        self._unfollow(session_topic(session_id))

    def follow_list(self, user_id: str) -> None:
        self._follow(person_topic(user_id))

    def unfollow_list(self, user_id: str) -> None:
        self._unfollow(person_topic(user_id))

    def is_followed(self, session_id: UUID) -> bool:
        return not self._knows_followers or bool(self._followers.of(session_topic(session_id)))

    def follows_lists(self) -> bool:
        return not self._knows_followers or bool(self._followers)

    @property
    def _knows_followers(self) -> bool:
        return time.monotonic() >= self._knows_followers_at

    def _follow(self, topic: str) -> None:
        is_new = topic not in self._followed
        self._followed.add(topic)
        self._tell_others({"kind": "follow", "topics": [topic], "is_new": is_new})

    def _unfollow(self, topic: str) -> None:
        if topic in self._followed:
            self._followed.discard(topic)
            self._tell_others({"kind": "unfollow", "topics": [topic]})

    # Sending

    def send_log_position(self, session_id: UUID, seq: int) -> None:
        self._post_about(session_id, {"kind": "event", "seq": seq})

    def send_text(self, session_id: UUID, chunk: TextChunk) -> None:
        self._post_about(session_id, {"kind": "text", **vars(chunk), "stream": chunk.stream._asdict()})

    def send_notice(self, session_id: UUID, notice: Notice) -> None:
        if self.is_followed(session_id):
            self._post_about(session_id, {"kind": "notice", "notice": values_of(notice)})

    def send_cancel(self, invocation_id: str) -> None:
        """Ask the process that runs the invocation to cancel it. The message is sent immediately."""
        self._tell_all_now({"kind": "cancel", "invocation": invocation_id})

    def send_sign_out(self, session_digest: str) -> None:
        """Report that a person has signed out."""
        self._tell_all_now({"kind": "sign_out", "digest": session_digest})

    def send_account_change(self, user_id: str) -> None:
        """Report that a person's account was changed."""
        self._tell_all_now({"kind": "account", "user": user_id})

    def send_list_change(self, user_id: str, change: ListChange) -> None:
        self._post_to_followers(person_topic(user_id), {"kind": change.value, "user": user_id})

    @property
    def sending(self) -> asyncio.Task[None] | None:
        """Task that sends news, running or ended; None before the first news."""
        return self._sending

    def _post_about(self, session_id: UUID, news: dict[str, Any]) -> None:
        self._post_to_followers(session_topic(session_id), {**news, "session": str(session_id)})

    def _post_to_followers(self, topic: str, news: dict[str, Any]) -> None:
        if not self._knows_followers:
            self._put(EVERYBODY, news)
        else:
            for process in self._followers.of(topic):
                self._put(process, news)

    def _tell_others(self, news: dict[str, Any]) -> None:
        """Broadcast, unless no other process is known."""
        # A process that starts later asks for all topics. An earlier one may reply late: see `_tell_untold_topics`.
        if self._followers or not self._knows_followers:
            self._put(EVERYBODY, news)
        else:
            self._has_untold_topics = True

    def _tell_untold_topics(self) -> None:
        """Broadcast the followed topics if some were followed while no other process was known."""
        if self._has_untold_topics:
            self._has_untold_topics = False
            self._put(EVERYBODY, {"kind": "follow", "topics": sorted(self._followed), "is_new": True})

    def _tell_all_now(self, news: dict[str, Any]) -> None:
        self._put(EVERYBODY, news)
        self._is_urgent.set()

    def _put(self, destination: str, news: dict[str, Any]) -> None:
        if self._is_stopped:  # `stop` has ended the sending task; nobody would end a new task.
            return
        self._unsent[destination].append(news)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all(), name="relay: send")

    async def _send_all(self) -> None:
        """Send the first news after a silence and urgent news immediately, other news every `relay_seconds`."""
        if self._hub is not None:  # Other processes may reply, so join the group first.
            await wait_until_set(self._has_joined, conf().heartbeat_seconds)
        while self._unsent:
            await wait_until_set(self._is_urgent, self._next_send_at - time.monotonic())
            self._next_send_at = time.monotonic() + conf().relay_seconds
            self._is_urgent.clear()
            while self._unsent:
                # First in, first out: no destination waits for the news of others.
                destination = next(iter(self._unsent))
                news = self._unsent.pop(destination)
                # Kept for the next attempt, before newer news: receivers see news in order. After a long outage the
                # oldest is dropped; receivers read PostgreSQL.
                if not await self._send(destination, news):
                    self._unsent[destination] = [*news, *self._unsent[destination]][-MAX_NEWS:]
                    await asyncio.sleep(conf().heartbeat_seconds)
                    break

    async def _send(self, destination: str, news: list[dict[str, Any]]) -> bool:
        """Send one message; return False when the channel layer does not answer."""
        layer = get_channel_layer()
        message = {
            "type": "news",
            "from": self._process_id,
            "channel": self._channel,
            "news": [self._add_topics(item) for item in news],
        }
        try:
            async with asyncio.timeout(conf().heartbeat_seconds):
                if destination == EVERYBODY:
                    await layer.group_send(GROUP, message)
                else:
                    await layer.send(destination, message)
        except Exception:  # Redis may be away. News is a hint; PostgreSQL has the truth.
            logger.warning(
                "News for other processes is kept: the channel layer does not answer", exc_info=True
            )
            return False
        return True

    async def flush(self) -> None:
        """Send the unsent news now. Wait at most `FLUSH_SECONDS`."""
        self._is_urgent.set()
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=FLUSH_SECONDS)

    # Listening

    async def listen(self, hub: Hub) -> None:
        """Pass the news of other processes to the hub until `stop`."""
        self._hub = hub
        layer = get_channel_layer()
        while not self._is_stopped:
            try:
                self._channel = self._channel or await layer.new_channel("adk.live")
                await self.join()
                if self._is_stopped:  # `stop` had no channel to send to.
                    return
                self._put(EVERYBODY, self._followed_list(asks=True))
                # Only the first time: a process that joins again knows its followers already.
                if self._knows_followers_at == math.inf:
                    self._knows_followers_at = time.monotonic() + conf().heartbeat_seconds
                while (message := await layer.receive(self._channel))["type"] != STOP:
                    self._receive(message)
                return
            except Exception:  # Redis may be away.
                logger.warning("The channel layer does not answer; trying again", exc_info=True)
                await asyncio.sleep(conf().heartbeat_seconds)
        self._has_joined.set()  # Releases callers that wait for a listener which was stopped before it joined.

    async def stay_joined(self) -> None:
        """Join the group again on every heartbeat, and send the followed topics every `LIST_SECONDS`."""
        next_list_at = time.monotonic() + LIST_SECONDS
        while True:
            await asyncio.sleep(conf().heartbeat_seconds)
            try:
                async with asyncio.timeout(conf().heartbeat_seconds):
                    await self.join()
            except Exception:  # Redis may be away.
                logger.warning("The channel layer cannot be joined; trying again", exc_info=True)
            if time.monotonic() >= next_list_at:
                next_list_at = time.monotonic() + LIST_SECONDS
                self._followers.forget_silent()
                self._put(EVERYBODY, self._followed_list())

    async def join(self) -> None:
        """Join the group of all processes. Idempotent."""
        # Called on every heartbeat: a restarted Redis has forgotten the members of the group.
        if self._channel:
            await get_channel_layer().group_add(GROUP, self._channel)
            self._has_joined.set()

    async def stop(self) -> None:
        """Send the unsent news, then end `listen`. Later news is dropped."""
        if self._channel:
            self._tell_others({"kind": "leave"})
        self._is_stopped = True
        self._is_urgent.set()
        if self._sending:
            await asyncio.wait([self._sending])
        if self._channel:
            await get_channel_layer().group_discard(GROUP, self._channel)
            # A message ends `listen`, because a wait for Redis cannot be cancelled.
            await get_channel_layer().send(self._channel, {"type": STOP})

    def _followed_list(self, *, asks: bool = False) -> dict[str, Any]:
        """Return the news with the topics of this process; with `asks` the receivers reply with their own topics."""
        return {"kind": "followed", "asks": asks}

    def _add_topics(self, news: dict[str, Any]) -> dict[str, Any]:
        """Add the topics to news of the kind `followed`."""
        # Just before sending: the list replaces the topics known to the receiver, so an older list would undo a
        # `follow` that was sent after the list was made.
        if news["kind"] != "followed":
            return news
        return {**news, "topics": sorted(self._followed)}

    def _receive(self, message: dict[str, Any]) -> None:
        is_own = message["from"] == self._process_id
        for news in message["news"]:
            try:
                if is_own:
                    self._on_echo(news)
                else:
                    self._dispatch(news, message.get("channel", ""))
            except Exception:  # During an upgrade another process may send news of an unknown kind.
                logger.exception("News of the kind %r cannot be used; other news can", news.get("kind"))

    def _on_echo(self, news: dict[str, Any]) -> None:
        """Handle news of this process that comes back through the group."""
        # The other processes have received the `follow` by now and send their news. News from before it is missing, so
        # the status of the sessions is checked.
        if news["kind"] == "follow" and news["is_new"] and self.on_followed:
            self.on_followed(_sessions_in(news["topics"]))

    def _dispatch(self, news: dict[str, Any], sender: str) -> None:
        hub = self._hub
        assert hub is not None  # noqa: S101 - set by `listen`
        match news["kind"]:
            case "text":
                chunk = TextChunk(StreamKey(**news["stream"]), news["offset"], news["text"])
                hub.receive_text(UUID(news["session"]), chunk)
            case "event":
                hub.receive_log_position(UUID(news["session"]), news["seq"])
            case "notice":
                hub.receive_notice(UUID(news["session"]), notice_from(news["notice"]))
            case "follow" | "unfollow" | "followed" | "leave":
                self._note_follower(hub, sender, news)
            case "cancel" if self.on_cancel:
                self.on_cancel(news["invocation"])
            case "sign_out" if self.on_sign_out:
                self.on_sign_out(news["digest"])
            case "account" if self.on_account_change:
                self.on_account_change(news["user"])
            case (ListChange.SESSIONS | ListChange.ACTIVITY) as change if self.on_list_change:
                self.on_list_change(news["user"], ListChange(change))
            case _:
                pass  # of a later version of the site, or for a part that this process does not run

    def _note_follower(self, hub: Hub, process: str, news: dict[str, Any]) -> None:
        """Update the topics of another process, and send it the text of sessions new to it."""
        if not process:  # The other process sends and does not listen.
            return
        match news["kind"]:
            case "follow":
                self._followers.add(process, news["topics"])
                topics = set(news["topics"])  # A repeated topic asks for the text again.
            case "followed":
                topics = self._followers.replace(process, news["topics"])
                if news["asks"]:
                    self._put(process, self._followed_list())
                self._tell_untold_topics()
            case "unfollow":
                return self._followers.remove(process, news["topics"])
            case _:
                return self._followers.forget(process)
        for session_id in _sessions_in(topics):
            hub.receive_follower(session_id)


def _sessions_in(topics: Iterable[str]) -> list[UUID]:
    """Return the sessions among the topics; the others are people."""
    sessions = []
    for topic in topics:
        session_id = session_of(topic)
        if session_id is not None:
            sessions.append(session_id)
    return sessions
