"""Case files: what staff collect as evidence, sealed into a bundle that shows each change without the site."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.contrib.auth.models import Group, Permission, User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from sessions_app.admin.case_files import case_file_admin
from sessions_app.data_protection.bundles.checking import check_bundle
from sessions_app.data_protection.bundles.writing import write_bundle
from sessions_app.data_protection.erase import ErasureOrder, erase_session
from sessions_app.data_protection.leftovers import delete_orphaned_files
from sessions_app.history.evidence import sealing
from sessions_app.models import (
    CaseEntry,
    CaseFile,
    CaseItem,
    LegalHold,
    Remit,
    Session,
    StaffAccess,
    StaffAct,
)
from tests.integration.admin.audit_rows import append_event, list_url, make_artifact, page_of, told
from tests.integration.admin.test_session_tools import downloaded

pytestmark = pytest.mark.usefixtures("transactional_db", "background_end")
KEPT = Path(__file__).parents[2] / "browser" / "case.zip"
RIGHTS = ("view_casefile", "add_casefile", "seal_casefile", "view_session", "view_text", "export_data")


def staff(name: str, *rights: str) -> Client:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights or RIGHTS))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def grace() -> Client:
    return staff("grace")


@pytest.fixture
def alan() -> Client:
    return staff("alan")


@pytest.fixture
def session(person: User) -> Session:
    session = Session.objects.create(app_name="help_desk", user=person, key="s-1", title="Broken lamp")
    append_event(session, {"text": "My lamp is broken, order 1001"}, author="user")
    append_event(session, {"text": "I am sorry."})
    append_event(session, {"text": "my password is: Tr0ub4dor"}, author="user")
    return session


def page(case: CaseFile, name: str = "change") -> str:
    return reverse(f"admin:sessions_app_casefile_{name}", args=[case.pk])


def collect(client: Client, *items: object, **values: object) -> Any:
    url = reverse("admin:sessions_app_casefile_add")
    query = "&".join(f"item={item}" for item in items)
    return client.post(f"{url}?{query}", {"title": "Lamp", **values}, follow=True)


def read(client: Client, case: CaseFile, kind: str = "agreed") -> Any:
    for session in Session.objects.filter(pk__in=case.items.values("session_id")):
        client.get(page_of(session))
    return client.post(page(case, "read"), {"reading-kind": kind, "reading-note": "Clear."}, follow=True)


def seal(client: Client, case: CaseFile) -> Any:
    return client.post(page(case, "seal"), {"reason": "For the court"}, follow=True)


def sealed(grace: Client, alan: Client, *items: object) -> CaseFile:
    collect(grace, *items, note="Look at #2.")
    case = CaseFile.objects.get()
    read(alan, case)
    assert "is sealed" in told(seal(grace, case))
    return case


def bundle(client: Client, case: CaseFile) -> bytes:
    response = client.get(page(case, "bundle"))
    assert f'"case-{case.pk}.zip"' in response["Content-Disposition"]
    return downloaded(response)


@pytest.fixture
def key(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Public key of the signed roots, from which bundles take their proofs."""
    made = Ed25519PrivateKey.generate()
    pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "root.key").write_bytes(pem)
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "root.pub").write_bytes(public)
    places = {"roots_place": str(tmp_path / "roots"), "roots_public_key": str(tmp_path / "root.pub")}
    settings.ADK = {**settings.ADK, **places}
    monkeypatch.setattr(sealing, "SETTLE_SECONDS", 0.0)
    return tmp_path / "root.pub"


def write_root(key: Path) -> None:
    call_command("adk_seal", to=str(key.parent / "roots"), key=key.parent / "root.key", stdout=StringIO())


def verify(content: bytes, tmp_path: Path, key: Path | None = None) -> str:
    path = tmp_path / f"{uuid4().hex}.zip"
    path.write_bytes(content)
    out = StringIO()
    try:
        call_command("adk_verify", bundle=path, public_key=key, stdout=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def test_a_case_file_is_collected_noted_read_and_sealed(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    assert f"?item={session.pk}" in grace.get(page_of(session)).content.decode()
    response = collect(grace, session.pk, f"{session.pk}.2", note="Look at #2.")
    case = CaseFile.objects.get()
    assert "Broken lamp" in response.content.decode() and "Look at #2." in response.content.decode()
    assert [item.seq for item in case.items.order_by("pk")] == [0, 2]
    assert "A second reader must read" in told(seal(grace, case))
    assert "Another must read" in told(read(grace, case))
    read(alan, case)
    grace.post(page(case, "note"), {"note": "One more thing."})
    assert "A second reader must read" in told(seal(grace, case)), "as it is now"
    read(alan, case, "read")
    assert "is sealed" in told(seal(grace, case))
    assert "nothing can be added" in told(seal(grace, case))
    assert "nothing can be added" in told(grace.post(page(case, "note"), {"note": "Late."}, follow=True))
    done = [(act.actor_name, act.action, act.detail) for act in StaffAct.objects.order_by("pk")]
    number = CaseEntry.objects.get(kind="seal").sha256
    assert done == [
        ("grace", "add", "(case)"),
        ("grace", "add", f"(session {session.pk})"),
        ("grace", "add", f"(session {session.pk}.2)"),
        ("grace", "add", "(note)"),
        ("alan", "read", "(agreed)"),
        ("grace", "add", "(note)"),
        ("alan", "read", "(read)"),
        ("grace", "seal", f"({number})"),
    ]
    bundle(alan, case)
    accesses = StaffAccess.objects.exclude(kind="open").values_list("actor_name", "kind", "subject_kind")
    assert list(accesses.order_by("pk")) == [
        ("grace", "export", "session"),
        ("alan", "download", "casefile"),
    ]


def test_the_second_reader_signs_only_what_was_opened_since_it_was_collected(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2", title="Broken desk")
    alan.get(page_of(session))
    collect(grace, f"{session.pk}.2", other.pk)
    case = CaseFile.objects.get()
    reading = {"reading-kind": "agreed", "reading-note": ""}
    for opened, left in ((None, 2), (session, 1), (other, 0)):
        if opened:
            alan.get(page_of(opened))
        shown = alan.get(page(case)).content.decode()
        assert shown.count("not opened by you") == left and ("Open each session" in shown) == (left > 0)
        posted = alan.post(page(case, "read"), reading, follow=True)
        assert ("Open each session" in told(posted)) == (left > 0)
        assert CaseEntry.objects.filter(kind="agreed").exists() == (left == 0)
    assert "not opened by you" not in grace.get(page(case)).content.decode(), "the author is no second reader"


def test_an_item_whose_session_was_erased_need_not_be_opened(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2", title="Broken desk")
    collect(grace, session.pk, other.pk)
    erase_session(other.pk, ErasureOrder("asked", by_name="grace"))
    case = CaseFile.objects.get()
    read(alan, case)
    assert CaseEntry.objects.filter(kind="agreed").exists()


@pytest.mark.parametrize("most", [10**7, 1])
def test_the_page_says_whether_the_bundle_in_the_storage_is_the_sealed_one(
    grace: Client, alan: Client, session: Session, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    case = sealed(grace, alan, session.pk)
    monkeypatch.setattr(case_file_admin, "MAX_CHECKED_BYTES", most)
    address = page(case)
    if most == 1:  # A large bundle is checked when somebody asks.
        assert "Check it" in alan.get(address).content.decode()
        address += "?check"
    assert "as sealed" in alan.get(address).content.decode()
    stored = CaseEntry.objects.get(kind="seal").bundle
    path = Path(stored.path)
    path.write_bytes(path.read_bytes().replace(b"verify.html", b"Verify.html"))
    shown = alan.get(address).content.decode()
    assert "is not the sealed file" in shown and "as sealed" not in shown
    path.unlink()
    shown = alan.get(page(case)).content.decode()
    assert "is missing" in shown and "Download the bundle" not in shown


@pytest.mark.parametrize("model", [CaseItem, CaseEntry])
def test_the_database_refuses_what_follows_a_seal(
    grace: Client, alan: Client, session: Session, model: Any
) -> None:
    case = sealed(grace, alan, session.pk)
    values = {"session_id": uuid4()} if model is CaseItem else {"kind": "note"}
    with pytest.raises(IntegrityError, match="is sealed"), transaction.atomic():
        model.objects.create(case=case, **values)


def test_a_bundle_holds_and_has_its_proof(
    grace: Client, alan: Client, session: Session, key: Path, tmp_path: Path
) -> None:
    write_root(key)
    append_event(session, {"text": "Younger than the root."})
    case = sealed(grace, alan, session.pk, f"{session.pk}.2")
    content = bundle(grace, case)
    said = verify(content, tmp_path, key)
    assert "BAD" not in said and "grace sealed case file" in said
    assert f"Session {session.pk}: 4 events follow from each other" in said
    assert "Masked events whose hashes only the site can compute: 1." in said
    assert f"Session {session.pk}: event 3 and all before it were so at" in said
    assert f"Event 2 of session {session.pk}: event 2 and all before it" in said
    with ZipFile(BytesIO(content)) as files:
        assert b"Tr0ub" not in b"".join(map(files.read, files.namelist()))
        assert b"I am sorry." in files.read(f"records/{session.pk}-2.html")
        assert b"My lamp" not in files.read(f"records/{session.pk}-2.html")
    other = Ed25519PrivateKey.generate().public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "other.pub").write_bytes(pem)
    assert "does not have the signature of this key" in verify(content, tmp_path, tmp_path / "other.pub")


def test_the_bundle_of_the_browser_test_is_as_the_site_makes_it(
    grace: Client, alan: Client, session: Session, key: Path, tmp_path: Path
) -> None:
    """`tests/browser/case.zip`: to make it anew, write the content of `made` there."""
    write_root(key)
    append_event(session, {"text": "Younger than the root."})
    made = bundle(grace, sealed(grace, alan, session.pk, f"{session.pk}.2"))
    _number, findings = check_bundle(KEPT, None)
    assert [finding.words for finding in findings if not finding.holds] == []
    with ZipFile(BytesIO(made)) as new, ZipFile(KEPT) as kept:
        files = [json.loads(bundled.read("case.json")) for bundled in (new, kept)]
        assert files[0].keys() == files[1].keys()
        chains = [
            json.loads(bundled.read(f"chains/{file['items'][0]['name']}.json"))
            for bundled, file in zip((new, kept), files, strict=True)
        ]
        assert chains[0].keys() == chains[1].keys() and chains[0]["proof"].keys() == chains[1]["proof"].keys()


Files = dict[str, bytes]


def forge(files: Files) -> None:
    """Write a manifest for the files as they are now."""
    import hashlib

    listed = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name != "manifest.json"
    ]
    files["manifest.json"] = json.dumps({"files": listed}).encode()


def change_event(files: Files, *folders: str) -> None:
    """Change a word of event 2 in the files of these folders."""
    for name in files:
        if name.split("/")[0] in folders:
            files[name] = files[name].replace(b"I am sorry.", b"I am happy.")


def forge_title(files: Files) -> None:
    files["case.json"] = files["case.json"].replace(b"Lamp", b"Lump")
    forge(files)


def forge_event(files: Files) -> None:
    change_event(files, "chains", "sessions")
    forge(files)


def forge_export(files: Files) -> None:
    change_event(files, "sessions")
    forge(files)


def forge_end(files: Files) -> None:
    """Cut off the last event everywhere."""
    for name in files:
        value = json.loads(files[name]) if name.startswith(("chains/", "sessions/", "case.json")) else None
        if value and "events" in value:
            value["events"].pop()
        if value and "items" in value:
            value["items"][0]["events"] -= 1
        if value:
            files[name] = json.dumps(value).encode()
    forge(files)


CHANGES: dict[str, tuple[Callable[[Files], Any], str]] = {
    "a changed byte": (lambda files: change_event(files, "records"), "was changed: its SHA-256"),
    "a removed file": (lambda files: files.pop("artifacts.json"), "artifacts.json is missing"),
    "an added file": (lambda files: files.update({"more.txt": b""}), "was added"),
    "a name that leads out": (lambda files: files.update({"../x": b""}), "do not unpack it"),
    "a forged manifest": (forge_export, "event 2 of the export was altered"),
    "a forged event": (forge_event, "event 2 was altered"),
    "a forged end": (forge_end, "is not the one that the signed root 1 has"),
}


def changed(content: bytes, change: Callable[[Files], Any]) -> bytes:
    with ZipFile(BytesIO(content)) as bundled:
        files = {name: bundled.read(name) for name in bundled.namelist()}
    change(files)
    target = BytesIO()
    with ZipFile(target, "w") as made:
        for name, stored in files.items():
            made.writestr(name, stored)
    return target.getvalue()


def is_same(one: bytes, other: bytes) -> bool:
    with ZipFile(BytesIO(one)) as first, ZipFile(BytesIO(other)) as second:
        names = second.namelist()
        return names == first.namelist() and all(first.read(name) == second.read(name) for name in names)


def test_each_change_of_a_bundle_is_found(
    grace: Client, alan: Client, session: Session, key: Path, tmp_path: Path
) -> None:
    write_root(key)
    content = bundle(grace, sealed(grace, alan, session.pk))
    for name, (change, words) in CHANGES.items():
        said = verify(changed(content, change), tmp_path, key)
        assert words in said and "does not hold" in said, (name, said)
    assert "sealed no such case file" in verify(changed(content, forge_title), tmp_path, key)
    seal_row = CaseEntry.objects.get(kind="seal")
    for stored in (changed(content, forge_title), changed(content, CHANGES["a changed byte"][0]), b"no zip"):
        Path(seal_row.bundle.path).write_bytes(stored)
        response = grace.get(page(seal_row.case, "bundle"))
        assert f'"altered-case-{seal_row.case_id}.zip"' in response["Content-Disposition"]
        assert downloaded(response) == stored
    for damaged in (b"", content[:-30], content[: len(content) // 2]):
        assert "is no bundle" in verify(damaged, tmp_path)
    for place in range(0, len(content), len(content) // 100):
        flipped = bytearray(content)
        flipped[place] ^= 0x55
        said = verify(bytes(flipped), tmp_path, key)
        # Some bytes of a zip, such as times, are no part of its files.
        assert any(words in said for words in ("BAD", "is no bundle")) or is_same(bytes(flipped), content)


def test_an_erased_session_leaves_the_case_file_with_its_tombstone(
    grace: Client, alan: Client, session: Session, person: User, tmp_path: Path
) -> None:
    case = sealed(grace, alan, session.pk)
    hold = LegalHold.objects.create(session=session, reason="A dispute")
    assert "legal hold" in grace.get(page(case)).content.decode()
    content = bundle(grace, case)
    LegalHold.objects.filter(pk=hold.pk).update(lifted_at="2026-01-01T00:00Z")
    stored = Path(CaseEntry.objects.get(kind="seal").bundle.path)
    assert "Download the bundle" in grace.get(page(case)).content.decode()
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    asked = root.get(reverse("admin:sessions_app_session_erase", args=[session.pk])).content.decode()
    of_person = root.get(reverse("admin:auth_user_delete", args=[person.pk])).content.decode()
    for shown in (asked, of_person):
        assert "1 sealed case file loses its bundle." in shown and f'href="{page(case)}"' in shown
    grace_without_cases = staff("clerk", "view_session", "view_text", "erase_data")
    shown = grace_without_cases.get(
        reverse("admin:sessions_app_session_erase", args=[session.pk])
    ).content.decode()
    assert "1 sealed case file loses its bundle." in shown and page(case) not in shown
    erase_session(session.pk, ErasureOrder("Asked for."))
    assert not stored.exists()
    stored.write_bytes(content)  # as if the process had died after the commit of the erasure
    os.utime(stored, (0, 0))
    delete_orphaned_files()
    assert not stored.exists()
    assert grace.get(page(case, "bundle")).status_code == 404
    shown = grace.get(page(case)).content.decode()
    assert "erased" in shown and "Broken lamp" not in shown and str(session.pk) in shown
    assert "The bundle was deleted" in shown and "Download the bundle" not in shown
    assert "grace sealed case file" in verify(content, tmp_path), "what was handed over can still be checked"


def test_staff_see_and_add_only_within_their_remit(
    grace: Client, alan: Client, session: Session, person: User
) -> None:
    other = Session.objects.create(app_name="payroll", user=person, key="s-2", title="Salary of Bob")
    clerks = Group.objects.create(name="Clerks")
    Remit.objects.create(group=clerks, app_name="help_desk")
    User.objects.get(username="alan").groups.add(clerks)
    url = reverse("admin:sessions_app_casefile_add")
    for item in (other.pk, f"{other.pk}.1", uuid4()):
        assert alan.get(f"{url}?item={item}").status_code == 404
        assert collect(alan, session.pk, item).status_code == 404
    assert not CaseFile.objects.exists()
    collect(grace, session.pk, other.pk, title="Both")
    collect(grace, other.pk, title="Only salary")
    collect(grace, title="Empty")
    collect(grace, session.pk, title="Only lamp")
    shown = alan.get(list_url("casefile")).content.decode()
    assert "Only lamp" in shown
    choices = alan.get(f"{url}?item={session.pk}").content.decode()
    for title in ("Both", "Only salary", "Empty"):
        case = CaseFile.objects.get(title=title)
        assert title not in shown and title not in choices
        for name in ("change", "note", "read", "seal", "bundle"):
            assert alan.get(page(case, name)).status_code == 404
        assert collect(alan, session.pk, title="", case=case.pk).status_code == 200
        assert case.items.filter(actor_name="alan").count() == 0


@pytest.mark.parametrize(
    "item", ["x", "1", "{session}.x", "{session}.99", "{session}.-1", "{session}.1e3", "{session}.", "\u0663"]
)
def test_what_is_no_event_of_the_session_is_not_added(grace: Client, session: Session, item: str) -> None:
    assert collect(grace, item.format(session=session.pk)).status_code == 404


def test_hostile_titles_and_notes_are_refused_or_inert(grace: Client, session: Session) -> None:
    hostile = "<script>alert(1)</script>\u202efdp.exe"
    for values in ({"title": "a\0b"}, {"title": "x" * 201}, {"note": "x" * 10_001}, {"title": ""}):
        assert "errorlist" in collect(grace, session.pk, **values).content.decode()
    assert collect(grace, session.pk, note="x" * 10_000_000).status_code == 400
    assert not CaseFile.objects.exists()
    shown = collect(grace, session.pk, title=hostile, note=hostile).content.decode()
    assert "<script>alert" not in shown and "\u202e" not in shown


def test_a_session_that_goes_on_is_not_sealed_half(
    grace: Client, alan: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sessions_app.data_protection.bundles import writing

    write = writing.verifying_page

    def append_meanwhile() -> bytes:
        append_event(session, {"text": "And now?"})
        return write()

    collect(grace, session.pk)
    case = CaseFile.objects.get()
    read(alan, case)
    monkeypatch.setattr(writing, "verifying_page", append_meanwhile)
    assert "went on while it was sealed" in told(seal(grace, case))
    assert not CaseEntry.objects.filter(kind="seal").exists()


def test_what_was_added_and_erased_while_a_bundle_was_made_is_not_sealed(
    grace: Client, alan: Client, session: Session, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "sessions_app.admin.case_files.case_file_admin.write_bundle"
    other = Session.objects.create(app_name="help_desk", user=person, key="s-2")
    append_event(other, {"text": "Another lamp."})
    collect(grace, session.pk, other.pk)
    case = CaseFile.objects.get()
    read(alan, case)

    def add() -> None:
        grace.post(page(case, "note"), {"note": "Late."})
        read(alan, case)

    def erase() -> None:
        erase_session(other.pk, ErasureOrder("Asked for."))

    for happens in (add, erase):

        def write_meanwhile(*args: Any, happens: Callable[[], None] = happens) -> str:
            number = write_bundle(*args)
            happens()
            return number

        monkeypatch.setattr(name, write_meanwhile)
        assert "has changed meanwhile" in told(seal(grace, case))
    monkeypatch.setattr(name, write_bundle)
    assert "is sealed" in told(seal(grace, case))


def test_more_events_than_a_request_can_seal_are_not_collected(
    grace: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessions_app.admin.case_files.case_file_admin.MAX_EVENTS", 2)
    assert "at most 2 events" in collect(grace, session.pk).content.decode()
    assert not CaseFile.objects.exists()


def test_a_file_that_is_too_large_for_a_bundle_is_named(
    grace: Client, alan: Client, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_artifact(session, "small.txt", b"ab")
    collect(grace, session.pk)
    case = CaseFile.objects.get()
    read(alan, case)
    monkeypatch.setattr("sessions_app.admin.case_files.case_file_admin.MAX_FILE_BYTES", 4)
    make_artifact(session, "scan password=Tr0ub4dor.pdf", b"abc")
    said = told(seal(grace, case))
    assert "at most 4\xa0bytes together, and these have 5\xa0bytes" in said and "Tr0ub" not in said
    assert f"of session {session.pk} with 3\xa0bytes" in said and "“scan password=[masked]" in said
    refused = collect(grace, session.pk)
    assert "at most 4\xa0bytes" in refused.content.decode() and CaseFile.objects.count() == 1
    collect(grace, f"{session.pk}.2")  # a single event brings no files
    assert CaseFile.objects.count() == 2


def test_an_author_who_reads_at_the_same_moment_is_no_second_reader(
    grace: Client, alan: Client, session: Session
) -> None:
    collect(grace, session.pk)
    case = CaseFile.objects.get()
    alan.post(page(case, "note"), {"note": "Also look at #1."})
    author = CaseEntry.objects.get().actor_id
    CaseEntry.objects.create(case=case, kind="agreed", actor_kind="staff", actor_id=author)
    assert "A second reader must read" in told(seal(grace, case))
