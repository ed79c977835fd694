"""A thread of Slack is a session of the linked person, and nobody else gets anything."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone

from adk_site.embedded.paths import CHECKOUT
from sessions_app.contrib.slack import endpoint
from sessions_app.contrib.slack.endpoint import ROUTE
from sessions_app.data_protection.erase import ErasureOrder, erase_user
from sessions_app.models import (
    AccountAct,
    Artifact,
    Invocation,
    LinkedAccount,
    Session,
    SlackThread,
    Webhook,
    WebhookDelivery,
)
from sessions_app.process.threads import in_thread
from tests.fakes import ScriptedModel
from tests.integration.contrib.slack.conftest import APP, post_news
from tests.slack_server import SECRET, TEAM, TOKEN, SlackClient, SlackServer


async def test_a_thread_is_a_session_in_which_each_message_gets_its_answer_once(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, person: User
) -> None:
    model.turns += ["**Hello** & welcome", "Again"]
    thread = await ada.say("Hi &lt;there&gt;")
    await post_news()
    # In its thread no mention is needed, and a mention arrives as two events.
    followed = ada.event("And now?", thread, type="message", channel_type="channel")
    mention = {**followed, "event_id": "EvOther", "event": {**followed["event"], "type": "app_mention"}}
    responses = await asyncio.gather(*(ada.send(event) for event in (followed, mention, followed, mention)))
    assert {response.status_code for response in responses} == {200}
    await post_news()
    await post_news()
    assert slack.texts == ["**Hello** & welcome", "Again"]
    assert {message["thread_ts"] for message in slack.messages} == {thread}
    session = await Session.objects.aget()
    assert session.user_id == person.pk
    asked = [row.message["parts"][0]["text"] async for row in Invocation.objects.order_by("pk")]
    assert asked == ["Hi <there>", "And now?"]


async def test_an_account_that_is_not_linked_gets_only_a_link_that_its_person_confirms_in_the_browser(
    slack: SlackServer, stranger: SlackClient, model: ScriptedModel, browser: AsyncClient, person: User
) -> None:
    await stranger.say("Hi")
    assert not await Session.objects.aexists() and slack.messages == []
    [whisper] = slack.whispers
    assert (whisper["user"], whisper["channel"]) == ("U1", "C1")
    path = whisper["text"].partition("<")[2].partition("|")[0].removeprefix(stranger.site)
    assert (await AsyncClient().get(path)).status_code == 302  # to the sign-in
    page = await browser.get(path)
    assert "\\u202ename of U1 (U1)" in page.content.decode()
    assert not await LinkedAccount.objects.aexists()
    assert (await browser.post(path)).status_code == 200
    assert (await browser.post(path)).status_code == 200
    assert (await LinkedAccount.objects.aget()).user_id == person.pk
    other = await User.objects.acreate_user("bob")
    others_browser = AsyncClient()
    await others_browser.aforce_login(other)
    assert (await others_browser.post(path)).status_code == 409
    assert (await browser.get(f"{path[:-2]}x/")).status_code == 404
    model.turns.append("Hello")
    await stranger.say("Hi again")
    await post_news()
    assert slack.texts == ["Hello"]


async def test_after_unlinking_nothing_is_posted_and_nothing_is_heard(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, browser: AsyncClient, person: User
) -> None:
    model.turns.append("Too late")
    thread = await ada.say("Hi")
    account = await LinkedAccount.objects.aget()
    settings = await browser.get("/settings/")
    assert f"/settings/linked-accounts/{account.pk}/unlink/" in settings.content.decode()
    await browser.post(f"/settings/linked-accounts/{account.pk}/unlink/")
    await post_news()
    await ada.say("Are you there?", thread, type="message")
    await post_news()
    assert slack.messages == []
    assert not await Webhook.objects.aexists()
    assert await Session.objects.acount() == await Invocation.objects.acount() == 1
    assert [act.action async for act in AccountAct.objects.all()] == ["delete"]


async def test_what_is_kept_about_an_account_is_erased_with_its_person(
    ada: SlackClient, model: ScriptedModel, person: User
) -> None:
    model.turns.append("Hello")
    await ada.say("Hi")
    await post_news()
    tombstone = await in_thread(erase_user, person.pk, ErasureOrder("asked"))
    assert tombstone.counts["linked_accounts"] == 1
    assert not await LinkedAccount.objects.aexists() and not await SlackThread.objects.aexists()


async def test_others_cannot_talk_in_a_thread_or_where_no_agent_answers(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, site: str
) -> None:
    model.turns.append("Hello")
    thread = await ada.say("Hi")
    bob = await User.objects.acreate_user("bob")
    await LinkedAccount.objects.acreate(user=bob, service="slack", place="T1", account="U2", name="bob")
    other = SlackClient(site, user="U2")
    await other.say("Between us", thread, type="message")
    assert slack.whispers == []
    await other.say("Let me in", thread, ts="1600000001.5")
    await ada.say("Hi", channel="C9")
    await ada.say("I am a program", bot_id="B1")
    await ada.say("From elsewhere", user_team="T2")
    await other.say("Not meant for an agent", type="message", channel_type="channel")
    await post_news()
    assert [whisper["text"] for whisper in slack.whispers] == [
        "This thread is a conversation of somebody else. Begin one of your own.",
        slack.whispers[1]["text"],
    ]
    assert await Session.objects.acount() == await Invocation.objects.acount() == 1
    await User.objects.filter(username="ada").aupdate(is_active=False)
    await ada.say("Still here?", thread, type="message")
    assert await Invocation.objects.acount() == 1


async def test_files_reach_the_agent_after_slack_has_its_response_and_only_those_that_slack_has(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, settings: Any
) -> None:
    model.turns.append("Seen")
    api = settings.ADK["slack_api"]
    slack.files["/files/a.txt"] = b"content"
    url = api.replace("/api/", "/files/a.txt")
    event = ada.event("Look", files=[{"name": "a.txt", "url_private_download": url}])
    responses = await asyncio.gather(ada.send(event), ada.send(event))
    assert [response.status_code for response in responses] == [200, 200]
    assert not await Artifact.objects.aexists()
    noted = await WebhookDelivery.objects.aget()
    assert "Look" not in str(noted.payload)  # The log alone has the words of people.
    await post_news()
    await WebhookDelivery.objects.aupdate(next_at=timezone.now())  # as if its process had died
    await post_news()
    assert [(row.filename, row.version) async for row in Artifact.objects.all()] == [("a.txt", 0)]
    assert slack.texts == ["Seen"] and len(model.requests) == 1
    settings.LANGUAGE_CODE = "de"
    await ada.say("Look", files=[{"name": "b.txt", "url_private_download": "https://evil.example/b.txt"}])
    await post_news()
    words = "Nur Dateien, die in Slack gespeichert sind, können an den Agenten gesendet werden."
    assert slack.whispers[0]["text"] == words
    await ada.say("Look", files=[{"name": "a.txt", "url_private_download": url}] * 11)
    await post_news()
    assert (
        slack.whispers[1]["text"]
        == "Die Nachricht hat 11 Dateien; erlaubt sind 10. Senden Sie sie in Teilen."
    )
    assert await Artifact.objects.acount() == 1


async def test_all_people_write_from_the_address_of_slack_whose_limits_are_not_theirs(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, settings: Any
) -> None:
    settings.ADK = {**settings.ADK, "max_frames_per_address": 1, "max_new_sessions_per_address": 1}
    model.turns += ["Hello", "Hello"]
    await ada.say("Hi")
    await ada.say("Hi")
    await post_news()
    assert slack.texts == ["Hello", "Hello"] and slack.whispers == []


@pytest.mark.parametrize(("secret", "age"), [("forged", 0), ("signing-secret", 400)])
async def test_a_forged_or_old_request_is_refused(
    slack: SlackServer, ada: SlackClient, secret: str, age: int
) -> None:
    refused = await ada.send(ada.event("Hi"), secret=secret, age=age)
    assert refused.status_code == 401
    assert not await Session.objects.aexists() and slack.calls == []


async def test_a_request_that_nobody_signed_is_refused_before_it_is_read(site: str) -> None:
    now = str(int(time.time()))
    signed = {"X-Slack-Request-Timestamp": now, "X-Slack-Signature": "v0=0"}
    hostile: list[tuple[bytes, dict[str, str]]] = [
        (b"\xff", signed),
        (b"{", signed),
        (b"[1]", {**signed, "Content-Type": "application/json"}),
        (b"{}", {**signed, "X-Slack-Request-Timestamp": "soon"}),
        (b"ssl_check=1", signed),
        (b"{}", {}),
    ]
    async with httpx.AsyncClient() as client:
        for body, headers in hostile:
            refused = await client.post(f"{site}/{ROUTE}", content=body, headers=headers)
            assert refused.status_code == 401, (body, headers, refused.text)


async def test_the_page_sets_slack_up(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (CHECKOUT / "docs/slack.md").read_text()
    manifest = json.loads(page.partition("```json")[2].partition("```")[0])
    for part in (manifest["settings"]["event_subscriptions"], manifest["settings"]["interactivity"]):
        assert part["request_url"].removeprefix("https://chat.example.org/") == ROUTE
    monkeypatch.setenv("SLACK_SIGNING_SECRET", SECRET)
    monkeypatch.setenv("SLACK_BOT_TOKEN", TOKEN)
    shown: dict[str, Any] = {"ADK": {}}
    exec(page.partition("```python")[2].partition("```")[0].replace("T024BE7LD", TEAM), shown)
    own = shown["ADK"]
    assert own["slack_agents"] == {TEAM: "help_desk", f"{TEAM}/C061EG9SL": "shop"}
    own["slack_agents"][TEAM] = APP
    settings.ADK = {**own, "slack_api": settings.ADK["slack_api"], "title_model": None}
    model.turns.append("Hello")
    await ada.say("Hi")
    await post_news()
    assert slack.texts == ["Hello"]


async def test_a_site_without_the_package_or_the_secret_says_so(
    ada: SlackClient, monkeypatch: pytest.MonkeyPatch, configure: Any
) -> None:
    configure()
    without_secret = await ada.send(ada.event("Hi"))
    assert (without_secret.status_code, without_secret.json()["detail"]) == (501, endpoint.NO_SECRET)
    monkeypatch.setattr(endpoint, "find_spec", lambda name: None)
    without_package = await ada.send(ada.event("Hi"))
    assert (without_package.status_code, without_package.json()["detail"]) == (501, endpoint.NO_PACKAGE)


async def test_slack_finds_the_address(ada: SlackClient) -> None:
    answer = await ada.send({"type": "url_verification", "challenge": "c-1"})
    assert (answer.status_code, answer.json()) == (200, {"challenge": "c-1"})
    unheard = await ada.send({"type": "event_callback", "team_id": "T1", "event": {"type": "team_join"}})
    assert unheard.status_code == 200
