"""Contract: the pane shows a file by what it is, and its documents can do nothing to the site."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from sessions_app.models import Session
from tests.integration.chat.pages.page_helpers import add_event, body_of, file_url, page, save_artifact
from tests.integration.chat.pages.test_downloads import PNG
from tests.integration.chat.pages.test_uploads import send

PDF = b"%PDF-1.4"


def pane(client: Client, session: Session, name: str, **query: str) -> str:
    return client.get(reverse("chat:preview", args=[session.id, name]), query).content.decode()


def document(client: Client, session: Session, name: str) -> Any:
    return client.get(reverse("chat:document", args=[session.id, name]))


def test_a_page_is_shown_in_a_sandbox_and_as_its_source(browser_of_person: Client, session: Session) -> None:
    html = b"<script>alert(1)</script><b>bold</b>"
    save_artifact(session, "a.html", html, mime_type="text/html")
    shown = pane(browser_of_person, session, "a.html")
    address = reverse("chat:document", args=[session.id, "a.html"])
    assert f'src="{address}?version=0"' in shown and "allow-scripts" not in shown
    assert "<b>" not in shown
    assert "&lt;b&gt;bold" in pane(browser_of_person, session, "a.html", view="source")
    response = document(browser_of_person, session, "a.html")
    assert (response["Content-Type"], body_of(response)) == ("text/html; charset=utf-8", html)
    policy = response["Content-Security-Policy"].split("; ")
    assert {"sandbox allow-popups allow-popups-to-escape-sandbox", "default-src 'none'"} <= set(policy)
    assert (response["X-Frame-Options"], response["X-Content-Type-Options"]) == ("SAMEORIGIN", "nosniff")


def test_a_pdf_in_a_message_is_left_to_the_viewer_of_the_browser_or_saved(
    browser_of_person: Client, session: Session
) -> None:
    assert send(browser_of_person, session, "a.pdf", PDF).status_code == 201
    attached = {"fileData": {"fileUri": "artifact:a.pdf?version=0", "mimeType": "application/pdf"}}
    add_event(session, "", "user", content={"parts": [attached]})
    chat = browser_of_person.get(page(session)).content.decode()
    link = re.search(r'<a class="file" href="([^"]+)"\s+data-preview="([^"]+)"', chat)
    assert link, chat
    shown = re.search(r'data-src="([^"]+)"', browser_of_person.get(link[2]).content.decode())
    assert shown, link[2]
    opened = browser_of_person.get(shown[1])
    assert (opened["Content-Type"], opened["Content-Disposition"]) == ("application/pdf", "inline")
    assert opened["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert (opened["X-Frame-Options"], opened["X-Content-Type-Options"]) == ("SAMEORIGIN", "nosniff")
    saved = browser_of_person.get(link[1])
    assert (saved["Content-Type"], saved["X-Content-Type-Options"]) == ("application/pdf", "nosniff")
    assert saved["Content-Disposition"] == 'attachment; filename="a.pdf"'
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(
        saved["Content-Security-Policy"].split("; ")
    )
    assert body_of(opened) == body_of(saved) == PDF


@pytest.mark.parametrize("mime_type", ["image/svg+xml", "text/plain", "application/xhtml+xml", ""])
def test_no_other_file_is_a_document(browser_of_person: Client, session: Session, mime_type: str) -> None:
    save_artifact(session, "a", b"<script>alert(1)</script>", mime_type=mime_type)
    assert document(browser_of_person, session, "a").status_code == 404


def test_a_drawing_is_an_image_in_which_nothing_runs(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "a.svg", b"<svg><script>alert(1)</script></svg>", mime_type="image/svg+xml")
    shown = pane(browser_of_person, session, "a.svg")
    assert f'<img src="{file_url(session, "a.svg")}?version=0"' in shown and "<svg><" not in shown
    assert "&lt;script&gt;" in pane(browser_of_person, session, "a.svg", view="source")


def test_names_cannot_mislead(browser_of_person: Client, session: Session) -> None:
    name = "<b>bill\u202efdp.png"
    save_artifact(session, name, PNG, mime_type="image/png")
    shown = pane(browser_of_person, session, name)
    assert 'alt="&lt;b&gt;bill\\u202efdp.png"' in shown
    assert "<b>" not in shown and "<h2" in shown


def test_code_has_the_language_of_its_extension(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "a.py", b"pass", mime_type="text/x-python")
    save_artifact(session, "a.txt", b"pass", mime_type="text/plain")
    assert '<pre data-language="py"' in pane(browser_of_person, session, "a.py")
    assert "data-language" not in pane(browser_of_person, session, "a.txt")


def test_a_file_that_the_storage_has_lost_says_so(browser_of_person: Client, session: Session) -> None:
    row = save_artifact(session, "a.csv")
    row.file.storage.delete(str(row.file.name))
    assert "The storage of the site does not have this file" in pane(browser_of_person, session, "a.csv")


def test_the_versions_of_a_file_lead_to_each_other(browser_of_person: Client, session: Session) -> None:
    for version in (0, 1, 4):
        save_artifact(session, "a.csv", b"v%d" % version, version=version)
    save_artifact(session, "b.csv")
    middle = pane(browser_of_person, session, "a.csv", version="1", view="source")
    address = reverse("chat:preview", args=[session.id, "a.csv"])
    assert f'data-preview="{address}?version=0&amp;view=source"' in middle
    assert f'data-preview="{address}?version=4&amp;view=source"' in middle
    assert "Version 2 of 5" in middle
    newest = pane(browser_of_person, session, "a.csv")
    assert "Version 5 of 5" in newest and "v4" in newest
    assert newest.count(" disabled") == 1
    assert "Versions" not in pane(browser_of_person, session, "b.csv")


def test_the_changes_since_the_version_before_are_shown(browser_of_person: Client, session: Session) -> None:
    text = "".join(f"line {number}\n" for number in range(3_000))
    save_artifact(session, "a.html", b"<b>old</b>\nkept", mime_type="text/html")
    save_artifact(session, "a.html", b"<b>new</b>\nkept", mime_type="text/html", version=1)
    save_artifact(session, "long.txt", text.encode(), mime_type="text/plain")
    save_artifact(session, "long.txt", text.encode(), mime_type="text/plain", version=1)
    shown = pane(browser_of_person, session, "a.html", view="changes")
    assert "<del>- &lt;b&gt;old&lt;/b&gt;</del>" in shown and "<ins>+ &lt;b&gt;new&lt;/b&gt;</ins>" in shown
    assert "This is the beginning." not in shown
    first = pane(browser_of_person, session, "a.html", version="0", view="changes")
    assert "<iframe" in first and "Changes" not in first
    assert "This is the beginning." in pane(browser_of_person, session, "long.txt", view="changes")


@pytest.mark.parametrize("mime_type", ["image/png", "application/zip", ""])
def test_files_that_are_no_text_have_no_changes(
    browser_of_person: Client, session: Session, mime_type: str
) -> None:
    for version in (0, 1):
        save_artifact(session, "a", PNG, mime_type=mime_type, version=version)
    assert "Changes" not in pane(browser_of_person, session, "a", view="changes")


def test_text_that_is_none_has_no_changes(browser_of_person: Client, session: Session) -> None:
    for version in (0, 1):
        save_artifact(session, "a.txt", b"\0", mime_type="text/plain", version=version)
    assert "There is no preview of this file." in pane(browser_of_person, session, "a.txt", view="changes")
