"""Acts that need a second person: another with the same rights agrees first, once, for this act on this row."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from sessions_app.errors import SecondPersonError
from sessions_app.models import (
    ActRequest,
    ActRequestStep,
    LegalHold,
    Remit,
    Session,
    StaffAccess,
    StaffAct,
    Tombstone,
)
from tests.integration.admin.audit_rows import list_url, page_of, read, told, tool_url

pytestmark = pytest.mark.usefixtures("db")
RIGHTS = (
    "view_session", "view_text", "view_actrequest", "view_staffact", "view_user", "delete_user", "unmask_data",
    "erase_data",
)  # fmt: skip
ACTS = ("unmask", "erase")


def staff(name: str, *rights: str) -> Client:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def acts_need_a_second_person(settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "second_person_for": ACTS, "second_person_hours": 2}


@pytest.fixture
def grace(session: Session) -> Client:
    return staff("grace", *RIGHTS)


@pytest.fixture
def alan(session: Session) -> Client:
    return staff("alan", *RIGHTS)


def address(act: str, subject: Session | User) -> str:
    if isinstance(subject, Session):
        return tool_url(subject, act)
    return reverse("admin:auth_user_delete", args=[subject.pk])


def ask(client: Client, act: str, subject: Session | User, reason: str = "Case 7") -> ActRequest:
    assert "Ask a second person" in read(client, address(act, subject))
    assert client.post(address(act, subject), {"reason": reason}).status_code == 302
    return ActRequest.objects.latest("pk")


def answer(client: Client, request: ActRequest, word: str = "agree", reason: str = "Read it") -> Any:
    page = reverse("admin:sessions_app_actrequest_answer", args=[request.pk])
    return client.post(page, {"answer": word, "reason": reason}, follow=True)


def act_on(client: Client, act: str, subject: Session | User, request: ActRequest) -> Any:
    return client.post(address(act, subject), {"agreed": request.pk})


def is_done(subject: Session | User) -> bool:
    """Return True if the subject was unmasked or erased."""
    is_there = type(subject)._default_manager.filter(pk=str(subject.pk)).exists()
    return StaffAccess.objects.filter(kind="unmask").exists() or not is_there


def row(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


@pytest.mark.parametrize("act", ACTS)
def test_an_act_is_done_by_the_asker_after_another_has_agreed(
    grace: Client, alan: Client, session: Session, act: str
) -> None:
    request = ask(grace, act, session, reason="Case \u202e7")
    waits = read(grace, address(act, session))
    assert "A second person must agree. You asked on" in waits and 'name="reason"' not in waits
    grace.post(address(act, session), {"reason": "Now", "agreed": request.pk})
    assert not is_done(session)
    home = read(alan, reverse("admin:index"))
    assert "I may agree as second person" in home
    html = read(alan, list_url("actrequest", "?stage=waiting"))
    assert "grace" in html and page_of(session) in html
    page = read(alan, reverse("admin:sessions_app_actrequest_answer", args=[request.pk]))
    assert "Case" in page and "\u202e" not in page
    assert "You agreed." in told(answer(alan, request))
    html = read(grace, address(act, session))
    assert "<bdi>alan</bdi> agreed on" in html and "Read it" in html and "Ask a second person" not in html
    assert act_on(grace, act, session, request).status_code == 302
    assert is_done(session)
    acts = StaffAct.objects.exclude(action="delete").order_by("pk")
    assert list(
        acts.values_list("actor_name", "action", "subject_kind", "subject_id", "reason", "detail")
    ) == [
        ("grace", "ask", "session", str(session.pk), "Case \u202e7", f"({act})"),
        ("alan", "approve", "session", str(session.pk), "Read it", f"({act})"),
    ]
    stored = Tombstone.objects.get() if act == "erase" else StaffAccess.objects.get(kind="unmask")
    assert stored.reason == "Case \u202e7"
    steps = ActRequestStep.objects.order_by("pk").values_list("actor_name", "kind", "agrees")
    assert list(steps) == [("alan", "answer", True), ("grace", "act", True)]
    assert "done" in read(alan, list_url("actrequest"))
    assert f">Ask to {act}<" in read(alan, list_url("staffact"))
    if act == "unmask":
        assert f"Agree to {act}" in read(
            grace, reverse("admin:sessions_app_session_history", args=[session.pk])
        )
    html = read(alan, reverse("admin:sessions_app_staffact_all"))
    assert f"Ask to {act}: session" in html and f"Agree to {act}: session" in html


def test_an_account_is_erased_after_another_has_agreed(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    request = ask(grace, "erase", person)
    grace.post(address("erase", person), {"reason": "Now"})
    grace.post(address("erase", person), {"agreed": request.pk})
    assert not is_done(person) and "You asked on" in read(grace, address("erase", person))
    answer(alan, request)
    grace.post(address("erase", person), {"reason": "Now"})  # a form from before the agreement
    assert not is_done(person)
    assert act_on(grace, "erase", person, request).status_code == 302
    assert is_done(person) and Tombstone.objects.get(kind="person").reason == "Case 7"
    act = StaffAct.objects.get(action="delete")
    assert (act.actor_name, act.subject_kind, act.reason) == ("grace", "user", "Case 7")


def test_the_asker_withdraws_a_request_that_waits(grace: Client, alan: Client, session: Session) -> None:
    request = ask(grace, "unmask", session)
    url = reverse("admin:sessions_app_actrequest_withdraw", args=[request.pk])
    assert url in read(grace, reverse("admin:sessions_app_actrequest_change", args=[request.pk]))
    assert "Only your own request" in told(alan.post(url, {"reason": "Mine."}, follow=True))
    assert not ActRequestStep.objects.exists()
    page = grace.post(url, {"reason": "Not needed."}, follow=True).content.decode()
    assert 'data-status="withdrawn"' in page and "withdraws" in page
    assert StaffAct.objects.latest("pk").action == "withdraw"
    assert "waits for nobody" in told(answer(alan, request))
    act_on(grace, "unmask", session, request)
    assert not is_done(session)
    assert ask(grace, "unmask", session).pk != request.pk, "asked again"


@pytest.mark.parametrize("word", ["agree", "refuse"])
@pytest.mark.parametrize("act", ACTS)
def test_the_home_page_tells_the_asker_the_answer_until_the_act_is_done(
    grace: Client, alan: Client, session: Session, person: User, act: str, word: str
) -> None:
    home = reverse("admin:index")
    subjects: list[Session | User] = [session] if act == "unmask" else [session, person]
    requests = {subject: ask(grace, act, subject) for subject in subjects}
    assert "You asked" not in read(grace, home)
    for request in requests.values():
        answer(alan, request, word)
    page = read(grace, home)
    assert page.count(f"You asked to {act}") == page.count(f"alan {word}d ") == len(subjects)
    for subject in subjects:
        assert f'href="{address(act, subject)}"' in page
    assert "You asked" not in read(alan, home)
    row_page = read(grace, reverse("admin:sessions_app_actrequest_change", args=[requests[subjects[0]].pk]))
    assert (f'href="{address(act, subjects[0])}">Do it…' in row_page) == (word == "agree")
    if word == "refuse":
        ask(grace, act, session)  # A new request takes the place of its predecessor.
    else:
        act_on(grace, act, session, requests[session])
    assert read(grace, home).count("You asked") == len(subjects) - 1
    ActRequest.objects.update(at=timezone.now() - timedelta(hours=2))
    assert "You asked" not in read(grace, home)


def test_the_home_page_tells_no_answer_about_what_the_asker_may_not_open(
    grace: Client, alan: Client, session: Session
) -> None:
    answer(alan, ask(grace, "erase", session))
    row(grace).user_permissions.remove(Permission.objects.get(codename="erase_data"))
    assert "You asked" not in read(grace, reverse("admin:index"))


def test_nobody_agrees_to_a_request_of_their_own(grace: Client, alan: Client, session: Session) -> None:
    act = "unmask"
    request = ask(grace, act, session)
    other_tab = Client()
    other_tab.force_login(row(grace))
    User.objects.filter(username="grace").update(is_superuser=True)
    for client in (grace, other_tab):
        assert "Another person must answer your request." in told(answer(client, request))
    assert not ActRequestStep.objects.exists()
    act_on(grace, act, session, request)
    # Nor does anybody act on the agreement of another.
    answer(alan, request)
    act_on(alan, act, session, request)
    assert not is_done(session)


def test_an_agreement_is_for_one_act_on_one_row(grace: Client, alan: Client, session: Session) -> None:
    other = Session.objects.create(app_name="shop", user=session.user, key="s-2")
    request = ask(grace, "unmask", session)
    answer(alan, request)
    for act, subject in (("unmask", other), ("erase", session), ("erase", session.user)):
        act_on(grace, act, subject, request)
        ask(grace, act, subject)
        act_on(grace, act, subject, request)
    assert not is_done(other) and not is_done(session) and not is_done(session.user)
    act_on(grace, "unmask", session, request)
    assert StaffAccess.objects.filter(kind="unmask").count() == 1
    act_on(grace, "unmask", session, request)
    assert StaffAccess.objects.filter(kind="unmask").count() == 1
    assert "Ask a second person" in read(grace, address("unmask", session))


def in_threads(*posts: Callable[[], Any]) -> list[Any]:
    """Send the requests at once; return what they return."""

    def send(post: Callable[[], Any]) -> Any:
        try:
            return post()
        finally:
            connections.close_all()

    with ThreadPoolExecutor() as pool:
        return list(pool.map(send, posts))


def test_two_tabs_use_an_agreement_once(
    transactional_db: None, grace: Client, alan: Client, session: Session
) -> None:
    request = ask(grace, "unmask", session)
    answer(alan, request)
    post = partial(act_on, grace, "unmask", session, request)
    statuses = [response.status_code for response in in_threads(post, post, post)]
    assert statuses.count(302) == 1
    assert StaffAccess.objects.filter(kind="unmask").count() == 1


def test_the_first_of_two_answers_counts(
    transactional_db: None, grace: Client, alan: Client, session: Session
) -> None:
    request = ask(grace, "erase", session)
    others = [alan, staff("edsger", *RIGHTS)]
    responses = in_threads(*(partial(answer, other, request) for other in others))
    # The contexts of the pages are of no use: the test client also records those of other threads.
    pages = [response.content.decode() for response in responses]
    assert sum("You agreed." in page for page in pages) == 1
    assert ActRequestStep.objects.count() == 1
    assert StaffAct.objects.filter(action="approve").count() == 1


def test_a_refusal_is_shown_and_another_request_begins_anew(
    grace: Client, alan: Client, session: Session
) -> None:
    act = "erase"
    request = ask(grace, act, session)
    assert "You refused." in told(answer(alan, request, "refuse", "Not without an order"))
    act_on(grace, act, session, request)
    html = read(grace, address(act, session))
    assert "<bdi>alan</bdi> refused your last request" in html and "Not without an order" in html
    assert "waits for nobody any more" in told(answer(alan, request))
    assert StaffAct.objects.filter(action="reject", actor_name="alan").exists()
    answer(alan, ask(grace, act, session))
    act_on(grace, act, session, request)  # the key of the refused request
    assert not is_done(session)


@pytest.mark.parametrize("is_agreed", [False, True])
def test_a_request_and_its_agreement_end(
    grace: Client, alan: Client, session: Session, settings: Settings, is_agreed: bool
) -> None:
    request = ask(grace, "unmask", session)
    if is_agreed:
        answer(alan, request)
    ActRequest.objects.update(at=request.at - timedelta(hours=2))
    assert "waits for nobody any more" in told(answer(alan, request))
    act_on(grace, "unmask", session, request)
    assert not is_done(session)
    assert "ended" in read(alan, list_url("actrequest"))
    assert "Ask a second person" in read(grace, address("unmask", session))


@pytest.mark.parametrize(("act", "is_second"), [("unmask", False), ("erase", False), ("erase", True)])
def test_rights_and_remits_are_checked_at_each_step(
    grace: Client, alan: Client, session: Session, act: str, is_second: bool
) -> None:
    request = ask(grace, act, session)
    if not is_second:
        answer(alan, request)
    changed = row(alan if is_second else grace)

    def try_it() -> int:
        if is_second:
            return int(answer(alan, request).status_code)
        return int(act_on(grace, act, session, request).status_code)

    right = Permission.objects.get(codename=f"{act}_data")
    changed.user_permissions.remove(right)
    assert try_it() == 403
    changed.user_permissions.add(right)
    group = Group.objects.create(name="clerks")
    changed.groups.add(group)
    remit = Remit.objects.create(group=group, app_name="other")
    assert try_it() == 404
    remit.delete()
    assert not is_done(session)
    assert try_it() in (200, 302)


def test_a_hold_that_is_set_between_forbids_the_erasure(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    requests = {}
    for subject in (session, person):
        requests[subject] = ask(grace, "erase", subject)
        answer(alan, requests[subject])
    hold = LegalHold.objects.create(session=session, reason="A court asked.")
    for subject, request in requests.items():
        assert act_on(grace, "erase", subject, request).status_code == 200
        assert not is_done(subject)
    # The agreements are not used up.
    hold.delete()
    assert act_on(grace, "erase", session, requests[session]).status_code == 302
    assert is_done(session)
    LegalHold.objects.create(user=person, reason="A court asked.")
    ActRequestStep.objects.all().delete()
    ActRequest.objects.all().delete()
    grace.post(address("erase", person), {"reason": "Case 8"})
    assert not ActRequest.objects.exists()


def test_only_who_may_do_an_act_may_agree_to_it(grace: Client, session: Session, person: User) -> None:
    requests = {"unmask": ask(grace, "unmask", session), "erase": ask(grace, "erase", person)}
    assert answer(staff("reader", "view_actrequest"), requests["unmask"]).status_code == 403
    lacking = staff("lacking", *{*RIGHTS} - {"view_actrequest"})
    assert answer(lacking, requests["unmask"]).status_code == 403
    clerk = staff("clerk", *{*RIGHTS} - {"delete_user"})
    assert answer(clerk, requests["erase"]).status_code == 403
    assert "May this be done?" not in read(clerk, list_url("actrequest"))
    page = reverse("admin:sessions_app_actrequest_change", args=[requests["erase"].pk])
    assert "Answer…" not in read(clerk, page)
    assert not ActRequestStep.objects.exists()
    page = reverse("admin:sessions_app_actrequest_change", args=[requests["unmask"].pk])
    assert "Answer…" in read(clerk, page)


@pytest.mark.parametrize("reason", ["", " ", "x" * 5_000, "a\0b"])
def test_a_reason_must_be_given_and_be_storable(
    grace: Client, alan: Client, session: Session, reason: str
) -> None:
    assert grace.post(address("erase", session), {"reason": reason}).status_code == 200
    assert not ActRequest.objects.exists()
    request = ask(grace, "erase", session)
    for form in (
        {"answer": "agree", "reason": reason},
        {"reason": "Yes"},
        {"answer": "maybe", "reason": "Yes"},
    ):
        page = reverse("admin:sessions_app_actrequest_answer", args=[request.pk])
        assert alan.post(page, form).status_code == 200
    assert not ActRequestStep.objects.exists()


@pytest.mark.parametrize("key", ["", "0", "-1", "x", "9" * 40, "a\0b"])
def test_a_forged_key_of_a_request_does_nothing(
    grace: Client, alan: Client, session: Session, key: str
) -> None:
    answer(alan, ask(grace, "erase", session))
    assert grace.post(address("erase", session), {"agreed": key}).status_code == 200
    assert not is_done(session)


def erase_by_command(*subject: str) -> str:
    """Return what `adk_erase` writes, or its error."""
    out = StringIO()
    try:
        call_command("adk_erase", *subject, "--yes", stdout=out)
    except CommandError as error:
        return str(error)
    return out.getvalue()


@pytest.mark.parametrize("is_account", [False, True])
def test_the_command_erases_once_what_was_asked_and_agreed_in_the_admin(
    grace: Client, alan: Client, session: Session, person: User, is_account: bool
) -> None:
    subject: Session | User = person if is_account else session
    name = ("--user", person.username) if is_account else ("--session", str(session.pk))
    assert "A second member of staff must agree" in erase_by_command(*name)
    request = ask(grace, "erase", subject)
    assert "A second member of staff must agree" in erase_by_command(*name)
    answer(alan, request)
    assert "Erased" in erase_by_command(*name) and is_done(subject)
    stone = Tombstone.objects.get()
    assert (stone.reason, stone.by_name) == ("Case 7", "grace")
    assert set(request.steps.values_list("kind", flat=True)) == {"answer", "act"}
    assert request.steps.get(kind="act").actor_name == "site"
    auditor = Client()
    auditor.force_login(User.objects.create_superuser("auditor"))
    shown = auditor.get(reverse("admin:sessions_app_staffact_all")).content.decode()
    assert shown.count("Erase:") == 1 and "grace" in shown.partition("Erase:")[0].rpartition("<tr")[2]


def test_an_agreement_is_for_one_subject_only(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    answer(alan, ask(grace, "unmask", session))
    answer(alan, ask(grace, "erase", person))
    assert "A second member of staff must agree" in erase_by_command("--session", str(session.pk))
    assert not is_done(session)


def test_no_code_of_the_project_deletes_an_account_without_an_agreement(
    session: Session, person: User
) -> None:
    """Such as the deletion of chosen users in an admin of the project's own."""
    with pytest.raises(SecondPersonError), transaction.atomic():
        User.objects.filter(pk=person.pk).delete()
    assert User.objects.filter(pk=person.pk).exists() and Session.objects.exists()


def test_an_interrupted_erasure_of_a_person_is_completed_without_another_agreement(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    answer(alan, ask(grace, "erase", person))
    hold = LegalHold.objects.create(
        session=Session.objects.create(user=person, app_name="a", key="k"), reason="x"
    )
    Tombstone.objects.create(
        kind="person", subject_id=str(person.pk), user_id=str(person.pk), reason="Case 7"
    )
    assert "legal hold" in erase_by_command("--user", person.username)
    hold.delete()
    assert "Erased" in erase_by_command("--user", person.username) and is_done(person)


def test_people_erase_their_own_data_alone(session: Session, person: User) -> None:
    client = Client()
    client.force_login(person)
    page = client.post(reverse("chat:delete_account"), {"name": person.username})
    assert page.status_code == 302 and not User.objects.filter(pk=person.pk).exists()


def test_without_the_setting_nothing_changes(grace: Client, session: Session, settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "second_person_for": ("erase",)}
    assert grace.post(address("unmask", session), {"reason": "Case 7"}).status_code == 302
    assert is_done(session) and not ActRequest.objects.exists()
