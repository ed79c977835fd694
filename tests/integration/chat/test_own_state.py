"""Contract: a person tells agents how to answer, and sees, changes and forgets what the agents keep about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import AccountAct, UserState
from tests.fakes import ScriptedModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
PAGE, INSTRUCTIONS = "/settings/", "/settings/instructions/"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel(rule=lambda request: "As you wish.")
    served(LlmAgent(name="echo", model=model), LlmAgent(name="other", model=ScriptedModel()))
    return model


async def html_of(browser: AsyncClient) -> str:
    return (await browser.get(PAGE)).content.decode()


async def state_of(user: User, app_name: str = "echo") -> dict[str, Any]:
    row = await UserState.objects.filter(user=user, app_name=app_name).afirst()
    return row.state if row else {}


async def post(browser: AsyncClient, address: str, **fields: str) -> Any:
    body = urlencode({name: value.encode(errors="surrogatepass") for name, value in fields.items()})
    return await browser.post(address, body, content_type=FORM)


def seen_in(html: str, app_name: str = "echo") -> str:
    found = re.search(
        rf'name="app" value="{app_name}">\s*<input type="hidden" name="seen" value="(\w*)"', html
    )
    assert found
    return found[1]


async def instruction_after_a_message(person: User, model: ScriptedModel) -> str:
    session = await use_cases.create_session(person, "echo")
    await use_cases.send_message(actors.person(person), session.pk, "m1", "Hello")
    await worker().wait_until_idle()
    return str(model.requests[-1].config.system_instruction)


async def test_agents_read_the_instructions_of_their_user_and_of_nobody_else(
    browser: AsyncClient, person: User, model: ScriptedModel
) -> None:
    response = await post(browser, INSTRUCTIONS, app="echo", text="Call me\r\nAda.", seen="")
    assert (response.status_code, response["Location"]) == (302, "/settings/#instructions")
    assert "\nCall me\nAda.</textarea>" in await html_of(browser)
    assert (await instruction_after_a_message(person, model)).endswith("\n> Call me\n> Ada.")
    eve = await User.objects.acreate_user("eve")
    assert "Ada" not in await instruction_after_a_message(eve, model)
    act = await AccountAct.objects.aget()
    assert (act.actor_name, act.subject_id) == ("ada", "echo: custom_instructions")
    assert await state_of(person, "other") == {}


async def test_an_author_switches_instructions_of_users_off(
    browser: AsyncClient, person: User, model: ScriptedModel, configure: Callable[..., None]
) -> None:
    await UserState.objects.acreate(user=person, app_name="echo", state={"custom_instructions": "Be brief."})
    configure(apps={"echo": {"custom_instructions_limit": 0}})
    assert "Be brief." not in await instruction_after_a_message(person, model)
    html = await html_of(browser)
    assert "Be brief." not in html and 'name="app" value="other"' in html
    assert (await post(browser, INSTRUCTIONS, app="echo", text="x", seen="")).status_code == 404


async def test_a_second_tab_overwrites_nothing_and_shows_both_texts(
    browser: AsyncClient, person: User, model: ScriptedModel
) -> None:
    seen = seen_in(await html_of(browser))
    await post(browser, INSTRUCTIONS, app="echo", text="First.", seen=seen)
    response = await post(browser, INSTRUCTIONS, app="echo", text="Second.", seen=seen)
    html = response.content.decode()
    assert response.status_code == 409
    assert "Stored now: <bdi>First.</bdi>" in html and "\nSecond.</textarea>" in html
    assert await state_of(person) == {"custom_instructions": "First."}
    await post(browser, INSTRUCTIONS, app="echo", text="Second.", seen=seen_in(html))
    await post(browser, INSTRUCTIONS, app="echo", text=" ", seen=seen_in(await html_of(browser)))
    assert await state_of(person) == {"custom_instructions": None}


@pytest.mark.parametrize(
    "text", ["a" * 4_001, "a" * 10_000_000, "a\x00", "\ud800"], ids=lambda text: ascii(text[:5])
)
async def test_a_text_that_cannot_be_kept_is_refused(
    browser: AsyncClient, person: User, model: ScriptedModel, text: str
) -> None:
    response = await post(browser, INSTRUCTIONS, app="echo", text=text, seen="")
    assert response.status_code in (302, 400, 413)
    kept = (await state_of(person)).get("custom_instructions", "")
    assert "\x00" not in kept and len(kept) < 4_000


async def test_a_hostile_text_stays_text(browser: AsyncClient, person: User, model: ScriptedModel) -> None:
    await post(browser, INSTRUCTIONS, app="echo", text="</textarea><script>x</script>\u202e", seen="")
    assert "<script>x" not in await html_of(browser)
