"""The whole site on a real HTTP server, Slack's Web API beside it, and a person in Slack whose account is linked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from adk_site.asgi import application
from runtime.agents import LlmAgent
from sessions_app.invocations.worker import worker
from sessions_app.models import LinkedAccount, WebhookDelivery
from sessions_app.tasks import _push_of as push_of
from tests.a2a_server import free_socket, listening_app
from tests.fakes import ScriptedModel
from tests.integration.due_deliveries import deliver_due
from tests.served_agents import Served
from tests.slack_server import SECRET, TEAM, TOKEN, SlackClient, SlackServer

APP = "desk"


@pytest.fixture
async def slack() -> SlackServer:
    return SlackServer()


@pytest.fixture
async def site(
    loop_end: None,
    configure: Callable[..., None],
    served: Served,
    model: ScriptedModel,
    tools: list[Any],
    slack: SlackServer,
) -> AsyncGenerator[str, None]:
    """The URL of the site, whose app `desk` answers in all channels but C9."""
    served(LlmAgent(name=APP, model=model, tools=tools))
    listening, url = free_socket()
    slack_listening, slack_url = free_socket()
    configure(
        slack_signing_secret=SECRET,
        slack_tokens={TEAM: TOKEN},
        slack_agents={TEAM: APP, f"{TEAM}/C9": "unknown"},
        slack_api=f"{slack_url}/api/",
        title_model=None,
    )
    async with listening_app(slack, slack_listening), listening_app(application, listening):
        yield url


@pytest.fixture
async def stranger(site: str) -> SlackClient:
    """Somebody whose account is not linked."""
    return SlackClient(site)


@pytest.fixture
async def ada(site: str, slack: SlackServer, person: User) -> SlackClient:
    await LinkedAccount.objects.acreate(user=person, service="slack", place=TEAM, account="U1", name="ada")
    return SlackClient(site, server=slack)


async def post_news() -> None:
    """Run what people have asked for, and all deliveries."""
    await worker().wait_until_idle()
    await WebhookDelivery.objects.exclude(next_at=None).aupdate(next_at=timezone.now())
    await deliver_due(push_of)
