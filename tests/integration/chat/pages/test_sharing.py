"""Contract: an owner shares a chat by a link; people of the site read it, and nothing more, until it is revoked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from sessions_app.data_protection.erase import ErasureOrder, erase_session, erase_user
from sessions_app.data_protection.export import export_session
from sessions_app.models import Session, ShareLink, StaffAct
from tests.integration.admin.audit_rows import make_job
from tests.integration.chat.pages.page_helpers import add_event, body_of, page, save_artifact
from tests.integration.chat.pages.test_exports import (
    answer_from_the_web,
    assert_links_its_source,
    conversation,
)

PNG = b"\x89PNG\r\n\x1a\n"
ADDRESS = re.compile(r'value="http://testserver(/shared/[\w-]{22}/)"')


@pytest.fixture(autouse=True)
def share_links(settings: Settings) -> None:
    settings.ADK = {**settings.ADK, "share_links": True}


@pytest.fixture
def reader(db: None) -> Client:
    """A browser of another person of the site."""
    client = Client()
    client.force_login(User.objects.create_user("bob"))
    return client


def share(client: Client, session: Session) -> str:
    """Share the session; return the path of its link."""
    html = client.post(f"{page(session)}share/").content.decode()
    found = ADDRESS.search(html)
    assert found, html
    return found[1]


def revoke(client: Client, session: Session) -> None:
    assert client.post(f"{page(session)}share/revoke/").status_code == 200


def status(client: Client, address: str) -> int:
    return client.get(address).status_code


def test_nothing_can_be_shared_unless_the_site_allows_it(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    address = share(browser_of_person, session)
    assert "data-shares" in browser_of_person.get("/").content.decode()
    settings.ADK = {key: value for key, value in settings.ADK.items() if key != "share_links"}
    assert status(browser_of_person, address) == 404
    assert status(browser_of_person, f"{page(session)}share/") == 404
    assert browser_of_person.post(f"{page(session)}share/").status_code == 404
    assert browser_of_person.post(f"{page(session)}share/revoke/").status_code == 404
    html = browser_of_person.get("/").content.decode()
    assert "data-shares" not in html and "Shared" not in html


def test_another_person_reads_the_chat_as_it_is_now(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    conversation(session)
    answer_from_the_web(session)
    address = share(browser_of_person, session)
    assert status(reader, page(session)) == 404
    html = body_of(reader.get(address)).decode()
    for words in (
        "Broken lamp",
        "ada",
        "Where is order 1001?",
        "<strong>on its way</strong>",
        "Looked up order 1001",
    ):
        assert words in html
    assert_links_its_source(html)
    assert "Later words" not in html
    add_event(session, "Later words", "user")
    assert "Later words" in body_of(reader.get(address)).decode()


def test_a_reader_sees_no_details_and_no_controls_whoever_reads(
    browser_of_person: Client, session: Session, settings: Settings
) -> None:
    settings.ADK = {**settings.ADK, "show_details": True}
    conversation(session)
    address = share(browser_of_person, session)
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    for client in (staff, browser_of_person):
        html = body_of(client.get(address)).decode()
        for detail in ("order_status", "DX-7", "last_order", "They want", "margin", "data-tokens"):
            assert detail not in html
        for control in ("<form", "<textarea", "<script>", "data-session", "<button"):
            assert control not in html


def test_readers_open_the_files_that_the_page_names_and_no_others(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    for version in range(3):
        text = b"<h1>Plan %d</h1>" % version
        save_artifact(session, "plan.html", text, version=version, mime_type="text/html")
    save_artifact(session, "report.csv")
    save_artifact(session, "secret.csv")
    save_artifact(session, "user:mine.csv", session=None)
    upload = {"fileData": {"fileUri": "artifact:report.csv?version=0", "mimeType": "text/csv"}}
    add_event(session, "", "user", content={"parts": [upload]}, invocationId="e-1")
    files = {"plan.html": 1, "user:mine.csv": 0, "lost.csv": 0}
    add_event(session, "Here.", actions={"artifactDelta": files}, invocationId="e-2")
    address = share(browser_of_person, session)
    own = f"{page(session)}"
    html = body_of(reader.get(address)).decode()
    assert "mine.csv" in html and "user%3A" not in html and own not in html
    assert (
        f'href="{address}artifacts/plan.html?version=1" data-preview="{address}preview/plan.html?version=1"'
        in html
    )
    for name in (
        "artifacts/plan.html?version=1",
        "artifacts/report.csv?version=0",
        "documents/plan.html?version=1",
    ):
        shown, of_owner = reader.get(address + name), browser_of_person.get(own + name)
        assert body_of(shown) == body_of(of_owner) and shown.headers == of_owner.headers
        assert shown["X-Content-Type-Options"] == "nosniff"
        assert Client().get(address + name).status_code == 302
    preview = reader.get(f"{address}preview/plan.html?version=1&view=changes").content.decode()
    assert f'src="{address}documents/plan.html?version=1"' in preview and "Plan 0" not in preview
    assert own not in preview and "All files" not in preview and "Versions" not in preview
    hidden = [
        "plan.html?version=0", "plan.html?version=2", "plan.html", "plan.html?version=-1", "secret.csv", "lost.csv",
        "user:mine.csv", "user:mine.csv?version=0", "%00", "report.csv?version=1",
    ]  # fmt: skip
    for name in hidden:
        for kind in ("artifacts", "preview", "documents"):
            assert status(reader, f"{address}{kind}/{name}") in (400, 404), name
    assert status(reader, f"{own}artifacts/plan.html?version=1") == 404
    add_event(session, "", "user", actions={"rewindBeforeInvocationId": "e-2"})
    assert status(reader, f"{address}artifacts/plan.html?version=1") == 404
    assert status(reader, f"{address}artifacts/report.csv?version=0") == 200
    revoke(browser_of_person, session)
    for kind in ("artifacts", "preview", "documents"):
        assert status(reader, f"{address}{kind}/report.csv?version=0") == 404


def test_readers_open_the_files_of_a_job(browser_of_person: Client, session: Session, reader: Client) -> None:
    save_artifact(session, "sales.csv")
    make_job(session, call_id="c-1", status="succeeded", artifacts={"sales.csv": 0})
    call = {"functionCall": {"id": "c-1", "name": "write_report", "args": {}}}
    add_event(session, "", content={"parts": [call]}, longRunningToolIds=["c-1"], invocationId="e-1")
    file = f"{share(browser_of_person, session)}artifacts/sales.csv?version=0"
    assert status(reader, file) == 200
    add_event(session, "", "user", actions={"rewindBeforeInvocationId": "e-1"})
    assert status(reader, file) == 404


def test_pictures_in_answers_are_shown_while_they_are_in_effect(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    names = ["cat.png", "page.html", "mine.png", "draft.png"]
    for name in names:
        kind = "text/html" if name.endswith("html") else "image/png"
        save_artifact(session, name, PNG, mime_type=kind)

    def says(author: str, *files: str) -> None:
        parts = [
            {"fileData": {"fileUri": f"artifact:{name}?version=0", "mimeType": "image/png"}} for name in files
        ]
        content = {"parts": [{"text": "See:"}, *parts]}
        add_event(session, "", author, content=content, invocationId="e-1")

    says("user", "mine.png")
    says("agent", "cat.png", "page.html")
    address = share(browser_of_person, session)
    html = body_of(reader.get(address)).decode()
    assert f'src="{address}artifacts/cat.png?version=0"' in html and html.count("<img") == 2
    picture = reader.get(f"{address}artifacts/cat.png?version=0")
    assert body_of(picture) == PNG and picture["Content-Type"] == "image/png"
    # A page that claims to be a picture is a download.
    assert reader.get(f"{address}artifacts/page.html?version=0")["Content-Disposition"].startswith(
        "attachment"
    )
    assert status(reader, f"{address}artifacts/draft.png?version=0") == 404
    assert status(reader, f"{address}artifacts/cat.png?version=1") == 404
    add_event(session, "", "user", actions={"rewindBeforeInvocationId": "e-1"})
    assert status(reader, f"{address}artifacts/cat.png?version=0") == 404
    revoke(browser_of_person, session)
    assert status(reader, f"{address}artifacts/cat.png?version=0") == 404


def test_a_link_is_for_people_who_are_signed_in(browser_of_person: Client, session: Session) -> None:
    address = share(browser_of_person, session)
    response = Client().get(address)
    assert response.status_code == 302 and response.headers["Location"].startswith("/accounts/login/")


def test_the_owner_sees_that_a_chat_is_shared_and_by_which_link(
    browser_of_person: Client, session: Session
) -> None:
    assert ">Shared<" not in browser_of_person.get("/").content.decode()
    assert "Create link" in browser_of_person.get(f"{page(session)}share/").content.decode()
    address = share(browser_of_person, session)
    assert address in browser_of_person.get(f"{page(session)}share/").content.decode()
    assert share(browser_of_person, session) == address
    assert ">Shared<" in browser_of_person.get("/").content.decode()


def test_a_revoked_link_is_gone_and_a_new_one_has_another_address(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    address = share(browser_of_person, session)
    revoke(browser_of_person, session)
    assert status(reader, address) == 404
    assert ">Shared<" not in browser_of_person.get("/").content.decode()
    new_address = share(browser_of_person, session)
    assert new_address != address
    assert (status(reader, address), status(reader, new_address)) == (404, 200)


def test_a_link_is_revoked_together_with_the_act_or_not_at_all(
    browser_of_person: Client, session: Session, request: pytest.FixtureRequest
) -> None:
    share(browser_of_person, session)
    request.getfixturevalue("death_after_act")
    with pytest.raises(ProcessLookupError):
        revoke(browser_of_person, session)
    assert ShareLink.objects.active().exists()
    assert list(session.acts.values_list("action", flat=True)) == ["share"]


def test_nobody_else_shares_revokes_or_asks(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    address = share(browser_of_person, session)
    assert status(reader, f"{page(session)}share/") == 404
    assert reader.post(f"{page(session)}share/").status_code == 404
    assert reader.post(f"{page(session)}share/revoke/").status_code == 404
    assert status(reader, address) == 200


def test_a_deleted_chat_is_not_read_until_it_is_restored(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    address = share(browser_of_person, session)
    assert browser_of_person.post(f"{page(session)}delete/").status_code == 204
    assert status(reader, address) == 404
    assert browser_of_person.post(f"{page(session)}restore/").status_code == 204
    assert status(reader, address) == 200


def test_an_archived_chat_stays_shared(browser_of_person: Client, session: Session, reader: Client) -> None:
    address = share(browser_of_person, session)
    browser_of_person.post(f"{page(session)}archive/")
    assert status(reader, address) == 200


@pytest.mark.parametrize("token", ["x" * 22, "x", "x" * 5_000, "-_-"])
def test_an_unknown_link_is_not_found(reader: Client, token: str) -> None:
    assert status(reader, f"/shared/{token}/") == 404


def test_an_erasure_deletes_the_links(browser_of_person: Client, person: User, session: Session) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-9")
    for one in (session, other):
        share(browser_of_person, one)
    assert erase_session(other.pk, ErasureOrder(reason="Asked for")).counts["share_links"] == 1
    assert ShareLink.objects.count() == 1
    assert erase_user(person.pk, ErasureOrder(reason="Asked for")).counts["share_links"] == 1
    assert ShareLink.objects.count() == 0


def test_an_export_of_the_data_has_no_token(
    browser_of_person: Client, session: Session, tmp_path: Path
) -> None:
    share(browser_of_person, session)
    export_session(session.pk, tmp_path / "out")
    text = (tmp_path / "out" / "share_links.json").read_text()
    assert "created_at" in text
    assert ShareLink.objects.get().token not in text


def staff_with(*permissions: str) -> Client:
    staff = User.objects.create_user("grace", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(staff)
    return client


def test_staff_see_what_is_shared_by_whom_without_the_token_and_revoke_it(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    address = share(browser_of_person, session)
    link = ShareLink.objects.get()
    staff = staff_with("view_sharelink", "view_text", "revoke_sharelink")
    row = reverse("admin:sessions_app_sharelink_change", args=[link.pk])
    for url in (reverse("admin:sessions_app_sharelink_changelist"), row):
        html = staff.get(url).content.decode()
        assert "Broken lamp" in html and "ada" in html
        assert link.token not in html
    action = reverse("admin:sessions_app_sharelink_revoke", args=[link.pk])
    assert action in staff.get(row).content.decode()
    assert staff.post(action, {"reason": "Left the company"}).status_code == 302
    assert status(reader, address) == 404
    link.refresh_from_db()
    assert link.revoked_at is not None and link.revoked_by_name == "grace"
    act = StaffAct.objects.get()
    assert (act.actor_name, act.action, act.subject_kind, act.reason) == (
        "grace", "revoke", "sharelink", "Left the company",
    )  # fmt: skip
    assert action not in staff.get(row).content.decode()


def test_staff_need_the_permission_to_revoke(
    browser_of_person: Client, session: Session, reader: Client
) -> None:
    address = share(browser_of_person, session)
    action = reverse("admin:sessions_app_sharelink_revoke", args=[ShareLink.objects.get().pk])
    assert staff_with("view_sharelink").post(action, {"reason": "No"}).status_code == 403
    assert status(reader, address) == 200
