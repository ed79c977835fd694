"""State correction: staff append an event with the changed keys only; a concurrent change gives a conflict."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app import use_cases
from sessions_app.admin.session.state_correction import CorrectionForm
from sessions_app.base import actors
from sessions_app.invocations.worker import worker
from sessions_app.models import (
    AppState,
    Event,
    Invocation,
    Remit,
    Session,
    SessionAct,
    StaffAct,
    UserState,
)
from sessions_app.process import threads
from tests.fakes import ScriptedModel
from tests.integration.admin.audit_rows import HOSTILE, told
from tests.integration.jobs.job_helpers import talk
from tests.served_agents import Served

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model(served: Served, background_end: None) -> ScriptedModel:
    scripted = ScriptedModel(turns=["Hello."])
    agent = LlmAgent(name="clerk", model=scripted, instruction="Total {total?}, name {user:name?}.")
    served(App(name="desk", root_agent=agent))
    return scripted


@pytest.fixture
def session(person: User, model: ScriptedModel) -> Session:
    session = Session.objects.get(pk=talk(person, "desk", "Hello"))
    Session.objects.filter(pk=session.pk).update(state={"total": 1, "lines": ["a"], "kept": "as it is"})
    UserState.objects.filter(user=person).update(state={"name": "Ada"})
    AppState.objects.filter(app_name="desk").update(state={"rate": 2})
    return session


@pytest.fixture
def staff(client: Client) -> User:
    user = User.objects.create_user("grace", is_staff=True)
    codenames = ["view_session", "view_text", "correct_state"]
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return user


def url_of(session: Session, *keys: str, **query: str) -> str:
    parts = [f"key={key}" for key in keys] + [f"{name}={value}" for name, value in query.items()]
    return reverse("admin:sessions_app_session_state", args=[session.pk]) + "?" + "&".join(parts)


def form_of(client: Client, url: str) -> dict[str, Any]:
    """Return what a browser would post with a reason and without a change."""
    return {**fields_of(client.get(url).context["form"]), "reason": "The count was wrong"}


def fields_of(form: CorrectionForm) -> dict[str, Any]:
    posted: dict[str, Any] = {"key": [key for key, *_ in form.rows()], "reason": form["reason"].value()}
    for _, value, _, seen in form.rows():
        posted |= {value.html_name: value.value(), seen.html_name: seen.value()}
    return posted


def state_of(session: Session) -> tuple[Any, Any, Any]:
    session.refresh_from_db()
    user = UserState.objects.get(user=session.user_id, app_name="desk")
    return session.state, user.state, AppState.objects.get(app_name="desk").state


def test_a_correction_of_all_scopes_is_one_event_with_the_changed_keys_which_agents_read(
    client: Client, staff: User, person: User, session: Session, model: ScriptedModel
) -> None:
    listed = client.get(url_of(session)).content.decode()
    assert all(key in listed for key in ("total", "lines", "kept", "user:name", "app:rate"))
    url = url_of(session, "total", "kept", "user:name", "app:rate", new="app:new")
    form = form_of(client, url)
    form |= {"value-0": "7", "value-2": '"Ada Lovelace"', "delete-3": "on", "value-4": '{"a": [1]}'}
    response = client.post(url, form, follow=True)
    event = Event.objects.filter(session=session).latest("seq")
    changes = {"total": 7, "user:name": "Ada Lovelace", "app:rate": None, "app:new": {"a": [1]}}
    assert f"corrected by event #{event.seq}" in told(response)
    assert event.body["actions"]["stateDelta"] == changes
    assert event.before == {"total": 1, "user:name": "Ada", "app:rate": 2}
    assert "content" not in event.body
    assert state_of(session) == (
        {"total": 7, "lines": ["a"], "kept": "as it is"},
        {"name": "Ada Lovelace"},
        {"rate": None, "new": {"a": [1]}},
    )
    act = SessionAct.objects.get(session=session)
    assert (act.action, act.actor_name, act.reason, act.seq) == (
        "change", "grace", "The count was wrong", event.seq,
    )  # fmt: skip
    assert StaffAct.objects.get().reason == "The count was wrong"
    assert "grace" in response.content.decode() and "The count was wrong" in response.content.decode()
    model.turns = ["Seven."]

    async def ask() -> None:
        await use_cases.send_message(actors.person(person), session.pk, "m2", "How much?")
        await worker().wait_until_idle()

    threads.run(ask())
    assert str(model.requests[-1].config.system_instruction).startswith("Total 7, name Ada Lovelace.")


@pytest.mark.parametrize("scope", ["session", "user", "app"])
def test_22_a_change_since_the_page_was_loaded_is_a_conflict_and_nothing_is_overwritten(
    client: Client, staff: User, session: Session, scope: str
) -> None:
    url = url_of(session, "total", "user:name", "app:rate")
    form = form_of(client, url) | {"value-0": "7", "value-1": '"Eve"', "value-2": "3"}
    changed: Any = {
        "session": Session.objects.filter(pk=session.pk),
        "user": UserState.objects.filter(user=session.user_id),
        "app": AppState.objects.filter(app_name="desk"),
    }[scope]
    key = {"session": "total", "user": "name", "app": "rate"}[scope]
    changed.update(state={key: "meanwhile"})
    before, events = state_of(session), Event.objects.count()
    response = client.post(url, form, follow=True)
    assert "has changed since you have loaded the page" in told(response)
    assert "meanwhile" in response.content.decode()
    assert state_of(session) == before and Event.objects.count() == events
    assert not StaffAct.objects.exists()


def test_after_a_conflict_the_form_has_what_was_written_and_what_has_changed(
    client: Client, staff: User, session: Session
) -> None:
    url = url_of(session, "total", "user:name", "app:rate")
    form = form_of(client, url) | {"value-0": "7", "value-1": '"Eve"', "delete-2": "on"}
    UserState.objects.filter(user=session.user_id).update(state={"name": "Ada Lovelace"})
    response = client.post(url, form)
    shown = response.context["form"]
    assert shown["reason"].value() == form["reason"] and form["reason"] in response.content.decode()
    assert (shown["value-0"].value(), shown["delete-2"].value()) == ("7", True)
    assert shown["value-1"].value() == '"Ada Lovelace"'
    assert "Somebody else has changed this value. You wrote: &quot;Eve&quot;" in response.content.decode()
    again = fields_of(shown) | {"value-1": '"Eve"'}
    assert "corrected by event" in told(client.post(url, again, follow=True))
    assert state_of(session)[1] == {"name": "Eve"}


def test_a_key_that_has_come_since_the_page_was_loaded_is_a_conflict(
    client: Client, staff: User, session: Session
) -> None:
    url = url_of(session, new="user:colour")
    form = form_of(client, url) | {"value-0": '"red"'}
    UserState.objects.filter(user=session.user_id).update(state={"colour": "blue"})
    assert "has changed since" in told(client.post(url, form, follow=True))
    assert state_of(session)[1] == {"colour": "blue"}


@pytest.mark.parametrize("status", ["queued", "running"])
def test_while_an_invocation_runs_or_waits_for_its_turn_a_correction_is_refused(
    client: Client, staff: User, session: Session, status: str
) -> None:
    Invocation.objects.create(session=session, invocation_id="e-9", client_id="m9", message={}, status=status)
    url = url_of(session, "total")
    response = client.post(url, form_of(client, url) | {"value-0": "7"}, follow=True)
    assert "An answer is being written" in told(response)
    assert state_of(session)[0]["total"] == 1


def test_a_correction_is_undone_by_another_one(client: Client, staff: User, session: Session) -> None:
    before = state_of(session)
    url = url_of(session, "total", "lines", "app:rate")
    client.post(url, form_of(client, url) | {"value-0": "7", "value-1": "[]", "value-2": "[3]"})
    seq = Event.objects.filter(session=session).latest("seq").seq
    undo = url_of(session, undo=str(seq)).replace("?&", "?")
    assert (
        undo in client.get(reverse("admin:sessions_app_session_change", args=[session.pk])).content.decode()
    )
    client.post(undo, form_of(client, undo))
    assert state_of(session) == before
    assert Event.objects.filter(session=session).latest("seq").seq == seq + 1


def test_a_correction_of_many_keys_is_whole_and_of_too_many_is_refused(
    client: Client, staff: User, session: Session
) -> None:
    many = [f"k{number}" for number in range(100)]
    Session.objects.filter(pk=session.pk).update(state=dict.fromkeys(many, 1))
    form = form_of(client, url_of(session, *many)) | {f"value-{number}": "2" for number in range(100)}
    client.post(url_of(session, *many), form)
    event = Event.objects.filter(session=session).latest("seq")
    assert event.body["actions"]["stateDelta"] == dict.fromkeys(many, 2)
    refused = client.get(url_of(session, *many, new="one"), follow=True)
    assert "At most 100 keys" in told(refused)


@pytest.mark.parametrize(
    "value",
    ["", "red", "NaN", "[1,", '"\\u0000"', '"\\ud800"', "[" * 20_000, "9" * 5_000],
    ids=["empty", "no-json", "nan", "cut", "nul", "surrogate", "deep", "digits"],
)
def test_a_value_that_an_agent_could_not_store_is_refused_with_a_sentence(
    client: Client, staff: User, session: Session, value: str
) -> None:
    url = url_of(session, "total")
    response = client.post(url, form_of(client, url) | {"value-0": value})
    assert response.status_code == 200 and response.context["form"].errors["value-0"]
    assert state_of(session)[0]["total"] == 1


@pytest.mark.parametrize("key", ["temp:x", "k" * 300])
def test_a_key_that_cannot_be_stored_is_refused(
    client: Client, staff: User, session: Session, key: str
) -> None:
    url = url_of(session, new=key)
    response = client.post(url, form_of(client, url) | {"value-0": "1"}, follow=True)
    assert "A key that is stored has" in told(response)


def test_hostile_keys_and_values_are_inert_and_kept_as_they_are(
    client: Client, staff: User, session: Session
) -> None:
    state = {"items": 1, HOSTILE: HOSTILE, "a\u202eb": "\u202e", "__proto__": {}, "large": "x" * 200_000}
    Session.objects.filter(pk=session.pk).update(state=state, title='The "old" <b>')
    html = client.get(url_of(session)).content.decode()
    assert "<bdi>The &quot;old&quot; &lt;b&gt;</bdi>" in html
    assert "<script>alert" not in html and "\u202e" not in re.sub(' value="[^"]*"', "", html)
    url = url_of(session, "a%E2%80%AEb")
    assert "\u202e" not in form_of(client, url)["value-0"]
    url = url_of(session, "items", "large", new="__proto__")
    assert "Too long to show here" in client.get(url).content.decode()
    client.post(url, form_of(client, url) | {"value-0": "2", "value-1": '"short"', "value-2": "[]"})
    assert state_of(session)[0] == {**state, "items": 2, "large": "short", "__proto__": []}


def test_a_correction_without_a_change_or_a_reason_is_none(
    client: Client, staff: User, session: Session
) -> None:
    url = url_of(session, "total", "lines")
    form = form_of(client, url)
    assert re.search("Nothing is changed", client.post(url, form).content.decode())
    assert client.post(url, form | {"value-0": "7", "reason": " "}).context["form"].errors["reason"]
    assert state_of(session)[0]["total"] == 1


def test_staff_with_a_remit_of_some_people_do_not_correct_the_state_of_the_app(
    client: Client, staff: User, session: Session
) -> None:
    clerks, customers = Group.objects.create(name="clerks"), Group.objects.create(name="customers")
    staff.groups.add(clerks)
    session.user.groups.add(customers)
    remit = Remit.objects.create(group=clerks, app_name="desk", people=customers)
    url = url_of(session, "total", "app:rate")
    posted = {"key": ["total", "app:rate"], "value-0": "7", "value-1": "3", "reason": "x"}
    for response in (client.get(url, follow=True), client.post(url, posted, follow=True)):
        assert "app:rate: state of the app is everybody's" in told(response)
    assert state_of(session)[0]["total"] == 1 and state_of(session)[2] == {"rate": 2}
    assert client.get(url_of(session, "total", "user:name")).context["form"]
    remit.people = None
    remit.save()
    assert "The state is corrected" in told(client.post(url, form_of(client, url) | posted, follow=True))


def test_a_masked_value_is_neither_shown_nor_corrected_until_the_session_is_unmasked(
    client: Client, staff: User, session: Session
) -> None:
    secret = "hunter2-and-more"
    Session.objects.filter(pk=session.pk).update(state={"total": 1, "login": {"password": secret}})
    UserState.objects.filter(user=session.user_id).update(state={"api_key": secret})
    keys = ("total", "login", "user:api_key")
    assert secret not in client.get(url_of(session)).content.decode()
    form = {"key": ["user:api_key"], "value-0": '"other"', "reason": "Rotated"}
    for response in (
        client.get(url_of(session, *keys), follow=True),
        client.post(url_of(session), form, follow=True),
    ):
        assert secret not in response.content.decode()
        assert "a value is masked. Unmask the session to correct it." in told(response)
    assert UserState.objects.get(user=session.user_id).state == {"api_key": secret}
    assert client.get(url_of(session, "total")).context["form"]

    staff.user_permissions.add(Permission.objects.get(codename="unmask_data"))
    client.post(reverse("admin:sessions_app_session_unmask", args=[session.pk]), {"reason": "Asked for"})
    assert secret in client.get(url_of(session, *keys)).content.decode()
    response = client.post(
        url_of(session), form_of(client, url_of(session, "user:api_key")) | form, follow=True
    )
    assert "The state is corrected" in told(response)
    undo = re.search(r"\?undo=\d+", response.content.decode())
    assert undo and UserState.objects.get(user=session.user_id).state == {"api_key": "other"}
    client.post(reverse("admin:sessions_app_session_mask", args=[session.pk]))
    response = client.get(url_of(session).partition("?")[0] + undo[0], follow=True)
    assert secret not in response.content.decode() and "a value is masked" in told(response)
