"""What a session commits is posted once, also when Slack is down, or a process dies, in between."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from adk_site.embedded.paths import CHECKOUT
from sessions_app.invocations.worker import worker
from sessions_app.models import SlackPost, SlackThread, WebhookDelivery
from tests.fakes import ScriptedModel
from tests.integration.contrib.slack.conftest import post_news
from tests.integration.locks import blocked, held
from tests.integration.management.terminal import site_environment
from tests.slack_server import LOST, SlackClient, SlackServer

HOSTILE = "<!channel> <@U1> & \u202eevil <!subteam^S1> https://user:hunter2@example.com " + "x" * 40_000


async def test_a_hostile_text_calls_nobody_hides_nothing_and_arrives_whole(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns.append(HOSTILE)
    await ada.say("Hi")
    await post_news()
    whole = "".join(slack.texts)
    assert whole.startswith("&lt;!channel> &lt;@U1> & \\u202eevil &lt;!subteam^S1>")
    assert whole.count("x") == 40_001 and "hunter2" not in whole
    for message in slack.messages:
        assert "<" not in message["text"] and "\u202e" not in str(message) and not message["unfurl_links"]


@pytest.mark.parametrize("failure", [429, 503, LOST])
async def test_what_slack_does_not_take_is_posted_later_once(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel, failure: Any
) -> None:
    model.turns.append("x" * 20_000 + "\n" + "y" * 5_000)
    await ada.say("Hi")
    slack.failures["chat.postMessage"] = [None, failure]
    await post_news()
    delivery = await WebhookDelivery.objects.aget()
    assert delivery.next_at is not None and delivery.error and "xoxb" not in delivery.error
    await post_news()
    await post_news()
    assert [len(text.strip()) for text in slack.texts] == [11_000, 9_000, 5_000]
    assert not await SlackPost.objects.aexists()


async def test_a_worker_that_is_killed_after_posting_lets_another_one_post_nothing_twice(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns += ["First", "Second"]
    thread = await ada.say("Hi")
    await worker().wait_until_idle()
    dying = await start_delivering()

    async def kill() -> None:
        dying.kill()
        await dying.wait()

    slack.failures["chat.postMessage"] = [kill]
    assert await dying.wait() == -signal.SIGKILL
    assert slack.texts == ["First"]
    assert [row.ts async for row in SlackPost.objects.all()] == [""]
    # A dead process keeps its claim for a while; nothing is posted until then.
    await ada.say("More", thread)
    await post_news()
    assert slack.texts == ["First"]
    await SlackThread.objects.aupdate(claimed_until="2000-01-01T00:00:00Z")
    await post_news()
    await post_news()
    assert slack.texts == ["First", "Second"]


async def test_deliveries_that_claim_a_thread_at_once_post_nothing_twice(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns += ["First", "Second"]
    thread = await ada.say("Hi")
    await worker().wait_until_idle()
    await ada.say("More", thread)
    await worker().wait_until_idle()
    deliveries = await WebhookDelivery.objects.acount()
    assert deliveries > 1

    refused = WebhookDelivery.objects.filter(error="Another process posts into this thread.")

    async def wait_for_the_other_deliveries() -> None:
        while await refused.acount() < deliveries - 1:
            await asyncio.sleep(0.01)

    slack.failures["chat.postMessage"] = [wait_for_the_other_deliveries]
    async with held("SELECT 1 FROM sessions_app_slackthread FOR UPDATE"):
        posting = asyncio.create_task(post_news())
        await blocked(deliveries)
    await posting
    assert await refused.acount() == deliveries - 1
    assert slack.texts == ["First", "Second"]


async def test_a_process_that_was_stopped_for_long_leaves_the_claim_of_another(
    slack: SlackServer, ada: SlackClient, model: ScriptedModel
) -> None:
    model.turns.append("First")
    await ada.say("Hi")
    await worker().wait_until_idle()
    claim = SlackThread.objects.filter()
    claimed_until = timezone.now() + timedelta(seconds=50)

    async def let_another_claim() -> None:
        await claim.aupdate(claimed_until=claimed_until)

    slack.failures["chat.postMessage"] = [let_another_claim]
    await post_news()
    assert slack.texts == ["First"]
    assert (await claim.aget()).claimed_until == claimed_until


async def start_delivering() -> asyncio.subprocess.Process:
    """Start a process that makes the due deliveries."""
    code = (
        "import json, sys, django; from django.conf import settings\n"
        "settings.ADK = {**settings.ADK, **json.loads(sys.argv[1])}; django.setup()\n"
        "from sessions_app import tasks; from sessions_app.webhooks.delivery import Round\n"
        "tasks.threads.run(Round(tasks._push_of).run())"
    )
    adk = {name: value for name, value in settings.ADK.items() if name.startswith("slack_")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, json.dumps(adk), cwd=CHECKOUT, env=site_environment()
    )
