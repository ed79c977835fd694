"""DatabaseSessionService is the site's session service; without a site it says so."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT
from runtime.sessions import DatabaseSessionService
from sessions_app.models import Session

pytestmark = pytest.mark.usefixtures("loop_end")


async def test_sessions_are_kept_in_the_sites_database(
    person: User, caplog: pytest.LogCaptureFixture
) -> None:
    service = DatabaseSessionService(db_url="postgresql://ada:s3cret@elsewhere/db")
    session = await service.create_session(app_name="shop", user_id=str(person.pk))
    assert (await Session.objects.aget()).key == session.id
    [warning] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "ignores db_url" in warning.message and "s3cret" not in caplog.text


def test_without_the_site_the_error_names_the_remedy() -> None:
    code = "from runtime.sessions import DatabaseSessionService as service; service('sqlite://')"
    run = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True)
    assert run.returncode == 1
    assert "DatabaseSessionService needs the site" in run.stderr and "InMemorySessionService" in run.stderr
