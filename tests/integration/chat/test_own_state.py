"""Contract: a person tells agents how to answer, and sees, changes and forgets what the agents keep about them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from runtime.agents import LlmAgent
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import AccountAct, LegalHold, MemoryEntry, Session, UserState
from sessions_app.store.memory_service import DjangoMemoryService
from sessions_app.store.session_service import DjangoSessionService
from tests.fakes import ScriptedModel
from tests.served_agents import Served

pytestmark = pytest.mark.usefixtures("loop_end")
KNOWN, CHANGE, FORGET_ALL = "/settings/known/", "/settings/known/change/", "/settings/known/forget/"
PAGE, INSTRUCTIONS = "/settings/", "/settings/instructions/"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def model(served: Served) -> ScriptedModel:
    model = ScriptedModel(rule=lambda request: "As you wish.")
    served(LlmAgent(name="echo", model=model), LlmAgent(name="other", model=ScriptedModel()))
    return model


async def html_of(browser: AsyncClient, address: str = PAGE) -> str:
    return (await browser.get(address)).content.decode()


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


def digest_in(html: str, key: str) -> str:
    found = re.search(
        rf'name="key" value="{re.escape(key)}">\s*<input type="hidden" name="seen" value="(\w+)"', html
    )
    assert found, key
    return found[1]


async def change(browser: AsyncClient, key: str, **fields: str) -> str:
    """Change a value as the page offers it; return the page that follows."""
    seen = fields.pop("seen", "") or digest_in(await html_of(browser, KNOWN), f"user:{key}")
    response = await post(browser, CHANGE, app="echo", key=f"user:{key}", seen=seen, **fields)
    assert response["Location"] == KNOWN
    return await html_of(browser, KNOWN)


STATE = {
    "name": "Ada",
    "age": 7,
    "wants_mail": True,
    "tags": ["a"],
    "pet": {"species": "cat", "api_key": "the key of Ada"},
    "api_key": "the key of Ada",
    "browser_time_zone": "UTC",
}


@pytest.fixture
async def known(person: User, model: ScriptedModel) -> None:
    await UserState.objects.acreate(user=person, app_name="echo", state=STATE)
    eve = await User.objects.acreate_user("eve")
    await UserState.objects.acreate(user=eve, app_name="echo", state={"name": "Eve Adams"})


async def test_a_person_sees_changes_and_forgets_what_agents_keep(
    browser: AsyncClient, person: User, known: None
) -> None:
    html = await html_of(browser, KNOWN)
    assert (
        "Ada</textarea>" in html
        and "the key of Ada" not in html
        and "Eve Adams" not in html
        and "Browser time zone" not in html
    )
    assert "Api key: [masked]\nSpecies: cat</dd>" in html
    await change(browser, "name", value="Ada\r\nLovelace")
    await change(browser, "age", value="36.5")
    await change(browser, "wants_mail", value="false")
    for key in ("tags", "pet", "api_key"):
        assert "The value is forgotten." in await change(browser, key, forget="")
    forgotten = dict.fromkeys(("tags", "pet", "api_key"))
    changed = {"name": "Ada\nLovelace", "age": 36.5, "wants_mail": False}
    assert await state_of(person) == {**changed, **forgotten, "browser_time_zone": "UTC"}
    acts = [act.subject_id async for act in AccountAct.objects.filter(user=person).order_by("pk")]
    assert acts == [f"echo: {key}" for key in (*changed, *forgotten)]
    assert (await UserState.objects.aget(user__username="eve")).state == {"name": "Eve Adams"}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("age", "seven", "This is not a number."),
        ("age", "NaN", "This is not a number."),
        ("age", "[" * 100_000, "This is not a number."),
        ("tags", "b", "This value cannot be edited."),
        ("api_key", "k-2", "This value cannot be edited."),
        ("name", "x" * 1_100_000, "The state would have"),
    ],
    ids=lambda value: value[:8],
)
async def test_a_value_that_does_not_fit_is_refused_with_a_sentence(
    browser: AsyncClient, person: User, known: None, key: str, value: str, sentence: str
) -> None:
    assert sentence in await change(browser, key, value=value)
    assert await state_of(person) == STATE


async def test_a_value_that_an_agent_has_changed_meanwhile_is_not_overwritten(
    browser: AsyncClient, person: User, known: None
) -> None:
    seen = digest_in(await html_of(browser, KNOWN), "user:name")
    await UserState.objects.filter(user=person).aupdate(state={"name": "Grace"})
    for fields in ({"value": "Ada L."}, {"forget": ""}):
        assert "This was changed meanwhile" in await change(browser, "name", seen=seen, **fields)
    assert await state_of(person) == {"name": "Grace"}
    await change(browser, "name", forget="")
    assert "This was changed meanwhile" in await change(browser, "name", seen=seen, value="Ada")
    assert await state_of(person) == {"name": None}


HOSTILE_KEYS = ("items", "__class__", "\u202eRTL", "<script>x</script>", "k" * 200, "{{ x }}", "a'b\"c")


async def test_hostile_keys_and_values_break_nothing(browser: AsyncClient, person: User, known: None) -> None:
    state: dict[str, Any] = {key: f"value of {key}" for key in HOSTILE_KEYS}
    state |= {"deep": {"a": [[["x"]]]}, "long": "y" * 100_000, "huge": 10**300}
    await UserState.objects.filter(user=person).aupdate(state=state)
    html = await html_of(browser, KNOWN)
    assert "<script>x" not in html and "y" * 5_000 not in html
    for number, (key, seen) in enumerate(
        re.findall(r'name="key" value="([^"]*)">\s*<input[^>]*value="(\w+)"', html)
    ):
        response = await post(browser, CHANGE, app="echo", key=unescape(key), seen=seen, value="9", forget="")
        assert response.status_code == 302, number
    assert set((await state_of(person)).values()) == {None}
    for app in ("", "a" * 10_000, "\ud800", "a\x00", "nobody"):
        for address in (CHANGE, FORGET_ALL):
            response = await post(browser, address, app=app, key="user:name", seen="x", value="x")
            assert response.status_code in (302, 400)
    assert await UserState.objects.filter(user=person).acount() == 1


async def test_everything_is_forgotten_at_once_except_instructions(
    browser: AsyncClient, person: User, known: None
) -> None:
    many = {f"k{number}": number for number in range(900)}
    await UserState.objects.filter(user=person).aupdate(state={**many, "custom_instructions": "Be brief."})
    await post(browser, FORGET_ALL, app="echo")
    kept = {key: value for key, value in (await state_of(person)).items() if value is not None}
    assert kept == {"custom_instructions": "Be brief."}
    assert (await UserState.objects.aget(user__username="eve")).state == {"name": "Eve Adams"}


Said = Callable[..., Awaitable[Any]]


@pytest.fixture
def said(person: User, model: ScriptedModel) -> Said:
    """Say a text in a chat of its own that is remembered; return its entry if there is one."""

    async def say(text: str) -> MemoryEntry | None:
        session = await use_cases.create_session(person, "echo")
        await use_cases.send_message(actors.person(person), session.pk, "m1", text)
        await worker().wait_until_idle()
        await remember(person, session.key)
        return await MemoryEntry.objects.filter(session=session, author="user").afirst()

    return say


async def remember(person: User, key: str) -> None:
    loaded = await DjangoSessionService().get_session(app_name="echo", user_id=str(person.pk), session_id=key)
    assert loaded
    await DjangoMemoryService().add_session_to_memory(loaded)


async def found(person: User, query: str) -> list[str | None]:
    result = await DjangoMemoryService().search_memory(app_name="echo", user_id=str(person.pk), query=query)
    return [(entry.content.parts or [])[0].text for entry in result.memories]


async def test_a_forgotten_memory_is_not_found_and_does_not_come_back(
    browser: AsyncClient, person: User, said: Said
) -> None:
    entry = await said("I like tea")
    address = f"{KNOWN}{entry.pk}/"
    html = await html_of(browser, KNOWN)
    assert "I like tea" in html and f'href="/chat/{entry.session_id}/?hit=1"' in html
    stranger = AsyncClient()
    await stranger.aforce_login(await User.objects.acreate_user("eve"))
    await post(stranger, address, forget="")
    await post(stranger, address, text="I like coffee")
    await post(stranger, FORGET_ALL, app="echo")
    assert await found(person, "tea") == ["I like tea"]
    await post(browser, address, forget="")
    await remember(person, str(entry.session_id))
    assert await found(person, "tea") == []
    assert "This was changed meanwhile" in await html_after(browser, address, text="I like tea")
    html = await html_of(browser, KNOWN)
    assert f"{KNOWN}{entry.pk}/" not in html and "As you wish." in html
    await post(browser, FORGET_ALL, app="echo")
    assert "No agent has noted anything about you." in await html_of(browser, KNOWN)


async def html_after(browser: AsyncClient, address: str, **fields: str) -> str:
    response = await post(browser, address, **fields)
    return await html_of(browser, response["Location"])


async def test_a_person_corrects_a_memory_but_writes_no_secret_into_it(
    browser: AsyncClient, person: User, said: Said
) -> None:
    entry = await said("I like tea")
    address = f"{KNOWN}{entry.pk}/"
    assert "The memory is corrected." in await html_after(browser, address, text=" I like\r\ncocoa ")
    await remember(person, str(entry.session_id))
    assert await found(person, "tea") == [] and await found(person, "cocoa") == ["I like\ncocoa"]
    for text in ("", "x" * 4_001, f"sk-{'a' * 40}"):
        assert 'role="alert"' in await html_after(browser, address, text=text)
    assert await found(person, "cocoa") == ["I like\ncocoa"]
    # As in messages: what PostgreSQL cannot store is replaced, and the rest is kept.
    assert "The memory is corrected." in await html_after(browser, address, text="My cocoa\x00")
    assert await found(person, "cocoa") == ["My cocoa\ufffd"]
    acts = [(act.action, act.subject_id) async for act in AccountAct.objects.filter(user=person)]
    assert acts == [("change", str(entry.pk))] * 2


async def test_nothing_of_a_pause_is_remembered_and_the_rest_is_found_by_its_words(
    browser: AsyncClient, person: User, said: Said
) -> None:
    await said("I like tea")
    assert "Remember again" in await html_after(browser, f"{KNOWN}pause/")
    assert await said("I like cocoa") is None
    await post(browser, f"{KNOWN}pause/", resume="")
    secret = await Session.objects.aget(title="I like cocoa")
    await remember(person, secret.key)
    assert await found(person, "cocoa") == []
    await said("I like water")
    html = await html_of(browser, f"{KNOWN}?q=LIKE+wat")
    assert "I like water" in html and "I like tea" not in html and "Pause remembering" in html
    assert "Nothing found." in await html_of(browser, f"{KNOWN}?q=%25+cocoa%ff")
    acts = [act.action async for act in AccountAct.objects.filter(user=person).order_by("pk")]
    assert acts == ["stop", "restore"]


async def test_a_legal_hold_keeps_memories_as_they_are(
    browser: AsyncClient, person: User, said: Said
) -> None:
    entry = await said("I like tea")
    await UserState.objects.filter(user=person).aupdate(state={"name": "Ada"})
    await LegalHold.objects.acreate(session_id=entry.session_id, reason="A dispute")
    address = f"{KNOWN}{entry.pk}/"
    for at, fields in ((address, {"forget": ""}), (address, {"text": "No"}), (FORGET_ALL, {"app": "echo"})):
        assert "under a legal hold" in await html_after(browser, at, **fields)
    assert await found(person, "tea") == ["I like tea"]
    assert await state_of(person) == {"name": "Ada"}
