"""Contract: the panel of files lists each version of a file of the session, with what is known about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from sessions_app.models import Session
from tests.integration.access import make_job
from tests.integration.chat.pages.page_helpers import save_artifact
from tests.integration.chat.pages.test_uploads import files_url, send


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def test_the_list_has_each_version_with_its_facts(browser_of_person: Client, session: Session) -> None:
    send(browser_of_person, session, "<b>.txt", b"a")
    send(browser_of_person, session, "<b>.txt", b"ab")
    save_artifact(session, "user:me.csv", session=None)
    html = browser_of_person.get(files_url(session)).content.decode()
    assert html.index("me.csv") < html.index("version 2") < html.index("TXT · 1\xa0byte<")
    assert "<b>" not in html


def test_the_list_names_the_job_that_has_made_a_file(browser_of_person: Client, session: Session) -> None:
    save_artifact(session, "report.txt")
    save_artifact(session, "notes.txt")
    make_job(session, tool_name="write_report", artifacts={"report.txt": 0})
    html = browser_of_person.get(files_url(session)).content.decode()
    assert html.count("made by “Write report”") == 1
    assert html.index("report.txt") < html.index("made by “Write report”")


def test_a_session_without_files_says_so(browser_of_person: Client, session: Session) -> None:
    assert (
        "There are no files in this chat yet." in browser_of_person.get(files_url(session)).content.decode()
    )
