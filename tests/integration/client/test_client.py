"""Contract: `adk_client` talks to a running site; connections that break lose and repeat nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from uuid import UUID, uuid4

import httpx
import pytest
from adk_client import (
    AsyncClient,
    Client,
    ConnectionLostError,
    Ended,
    ForbiddenError,
    InvalidError,
    NewEvent,
    News,
    NotFoundError,
    RunNews,
    Text,
    UnauthorizedError,
)
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from sessions_app.models import Feedback, Invocation, Session
from tests.browser.blocking_proxy import BlockingProxy
from tests.integration.access import make_schedule
from tests.integration.api.conftest import make_key

COUNTED = "".join(f"{number} " for number in range(150))
SECONDS_OF_OUTAGE = 0.5


class Cutter:
    """Cuts the connections when some words have come, and lets new ones through after half a second."""

    def __init__(self, proxy: BlockingProxy) -> None:
        self._proxy = proxy
        self._words = 0
        self.cuts = 0

    def see(self, news: News) -> None:
        self._words += isinstance(news, Text)
        if self._words in (3, 6) and isinstance(news, Text):
            self.cuts += 1
            self._proxy.cut()
            threading.Timer(SECONDS_OF_OUTAGE, self._proxy.restore).start()


def new_session(person: User) -> UUID:
    pk = uuid4()
    return Session.objects.create(pk=pk, app_name="clerk", user=person, key=str(pk)).pk


def check_whole(seen: Iterable[News]) -> None:
    """Check that the run's two events came once, and its text once and from the beginning."""
    seen = list(seen)
    events = [news for news in seen if isinstance(news, NewEvent)]
    assert [(news.seq, news.author) for news in events] == [(1, "user"), (2, "clerk")]
    streamed = "".join(news.text for news in seen if isinstance(news, Text))
    assert streamed == events[1].text == COUNTED
    assert isinstance(seen[-1], Ended) and seen[-1].status == "completed"


def test_a_stream_survives_cuts_in_both_clients(proxy: BlockingProxy, person: User, key: str) -> None:
    cutter, seen = Cutter(proxy), list[News]()
    with Client(proxy.base_url, key) as client:
        for news in client.ask(new_session(person), "count"):
            seen.append(news)
            cutter.see(news)
    check_whole(seen)
    assert cutter.cuts == 2

    session_id = new_session(person)

    async def talk() -> list[News]:
        cutter, seen = Cutter(proxy), list[News]()
        async with AsyncClient(proxy.base_url, key) as client:
            async for news in client.ask(session_id, "count"):
                seen.append(news)
                cutter.see(news)
        assert cutter.cuts == 2
        return seen

    check_whole(asyncio.run(talk()))
    assert Invocation.objects.count() == 2


class LosesResponses(httpx.HTTPTransport):
    """Loses the response to the first request of each address."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        place = f"{request.method} {request.url.path}"
        if place not in self.seen:
            self.seen.add(place)
            response.close()
            raise httpx.ReadError("The connection was broken.")
        return response


def test_a_request_whose_response_is_lost_has_its_effect_once(
    proxy: BlockingProxy, person: User, key: str
) -> None:
    with Client(proxy.base_url, key, transport=LosesResponses()) as client:
        session = client.create_session("clerk")
        file = client.upload(session.session_id, "größe.txt", "nötig".encode(), "text/plain")
        run = client.start_run(session.session_id, "hello", files=[file])
        assert isinstance(list(client.follow_run(run.run_id))[-1], Ended)
        assert client.download(session.session_id, "größe.txt") == "nötig".encode()
        assert [one.version for one in client.files(session.session_id).items] == [file.version] == [0]
    assert (Session.objects.count(), Invocation.objects.count()) == (1, 1)


def edit_and_rewind(client: Client) -> None:
    """Edit a run, give an opinion and rewind."""
    session_id = client.create_session("clerk").session_id
    first = client.start_run(session_id, "hello")
    list(client.follow_run(first.run_id))
    edited = client.edit_run(first.run_id, "hello again")
    list(client.follow_run(edited.run_id))
    asked, answered = client.events(session_id).items
    assert asked.event["content"]["parts"] == [{"text": "hello again"}]
    client.give_feedback(session_id, answered.seq, "good", "Thanks")
    assert Feedback.objects.get().rating == "good"
    client.withdraw_feedback(session_id, answered.seq)
    assert not Feedback.objects.exists()
    client.rewind(edited.run_id)
    assert client.events(session_id).items == []
    client.delete_session(session_id)


def manage_account(client: Client) -> None:
    """Make a key and a webhook, and remove them."""
    made = client.create_key("Laptop", ["read"])
    assert made.key and made.key.startswith(made.prefix)
    client.revoke_key(made.id)
    assert [key.revoked_at is None for key in client.keys()] == [False, True]
    hook = client.create_webhook("https://example.org/hook", ["run.ended"])
    assert hook.secret and client.test_webhook(hook.id).event == "test"
    assert [delivery.event for delivery in client.deliveries(hook.id)] == ["test"]
    client.delete_webhook(hook.id)
    assert client.webhooks() == []


async def list_by_the_other_client(proxy: BlockingProxy, key: str, session_id: UUID) -> None:
    """Cancel a scheduled task, and list keys and webhooks."""
    task = await sync_to_async(make_schedule)(await Session.objects.aget(pk=session_id))
    async with AsyncClient(proxy.base_url, key) as client:
        assert [one.schedule_id for one in (await client.schedules(session_id)).items] == [task.pk]
        assert (await client.cancel_schedule(task.pk)).status == "cancelled"
        assert (len(await client.keys()), await client.webhooks()) == (2, [])


def test_a_program_approves_answers_a_job_and_stops(proxy: BlockingProxy, person: User, key: str) -> None:
    with Client(proxy.base_url, key) as client:
        assert client.me().username == "ada"
        assert "clerk" in [app.name for app in client.apps()]
        session_id = client.create_session("clerk").session_id
        (*_, end) = client.ask(session_id, "delete")
        assert isinstance(end, Ended) and end.status == "waiting"
        (approval,) = client.approvals().items
        assert approval.arguments == {"name": "notes.txt"}
        client.approve(approval.approval_id)
        followed = client.follow_session(session_id)
        result = next(news for news in followed if isinstance(news, NewEvent) and "notes.txt" in news.text)
        assert result.text == "The result is {'deleted': 'notes.txt'}."
        (*_, end) = client.ask(session_id, "choose")
        (approval,) = client.approvals().items
        client.choose(approval.approval_id, 1)

        stopped = client.start_run(session_id, "long")
        for news in client.follow_run(stopped.run_id):
            if isinstance(news, Text) or (isinstance(news, RunNews) and news.status == "running"):
                client.cancel_run(stopped.run_id)
        assert client.run(stopped.run_id).status == "cancelled"

        list(client.ask(session_id, "bake"))
        (job,) = client.jobs(session_id).items
        assert (job.tool, job.status) == ("bake", "queued")
        assert client.cancel_job(job.job_id).status == "cancelled"
        edit_and_rewind(client)
        manage_account(client)
        asyncio.run(list_by_the_other_client(proxy, key, session_id))
        page = client.events(session_id, limit=2)
        assert [stored.seq for stored in page.items] == [1, 2] and page.next == 2
        client.rename_session(session_id, "Größe")
        assert [session.title for session in client.sessions().items] == ["Größe"]
        client.delete_session(session_id)
        with pytest.raises(NotFoundError):
            client.session(session_id)


@pytest.fixture
def refused(proxy: BlockingProxy) -> Callable[..., Client]:
    """Return a function that makes a client of one attempt."""
    return lambda key: Client(proxy.base_url, key, attempts=1)


def test_refusals_are_errors_with_code_fields_and_time(
    proxy: BlockingProxy, person: User, key: str, refused: Callable[..., Client]
) -> None:
    with refused("adk_unknown") as client, pytest.raises(UnauthorizedError) as unauthorized:
        client.me()
    assert (unauthorized.value.status, unauthorized.value.code) == (401, "unauthorized")
    with refused(make_key(person, "read")) as client, pytest.raises(ForbiddenError, match="scope"):
        client.create_session("clerk")
    with refused(key) as client:
        with pytest.raises(NotFoundError) as missing:
            client.create_session("nobody")
        assert missing.value.code == "not_found"
        with pytest.raises(InvalidError) as invalid:
            client.create_session("clerk", session_id="items")
        assert "session_id" in invalid.value.fields[0].field
        for hostile in ("../me", "a\0b", "\u202e", "x" * 5000):
            with pytest.raises((NotFoundError, InvalidError)):
                client.run(hostile)
    limited = make_key(person, requests_per_minute=1)
    with Client(proxy.base_url, limited, patience=0) as client, pytest.raises(Exception) as limit:
        [client.me() for _ in range(3)]
    assert getattr(limit.value, "code", "") == "limit" and getattr(limit.value, "retry_after", 0) > 0


def test_a_site_that_stays_away_is_an_error(proxy: BlockingProxy, key: str, person: User) -> None:
    proxy.cut()
    with Client(proxy.base_url, key, attempts=2) as client:
        with pytest.raises(ConnectionLostError, match="did not answer 2 attempts"):
            client.me()
        with pytest.raises(ConnectionLostError):
            list(client.follow_run("e-1"))
