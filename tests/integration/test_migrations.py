"""Contract: a migration does not lock out the processes of the running version, which go on while it runs."""

from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connection
from django.db.migrations import AddIndex, CreateModel, Migration
from django.db.migrations.loader import MigrationLoader

LAST_BEFORE_THE_RULE = 8
"""Number of the last migration that was released when indexes were still built under a lock."""


def migrations_under_the_rule() -> list[Migration]:
    """Return the migrations of the app that are newer than the rule."""
    loader = MigrationLoader(connection, ignore_no_migrations=True)
    disk: dict[tuple[str, str], Migration] = loader.disk_migrations
    names = [(app, name) for app, name in disk if app == "sessions_app"]
    return [disk[key] for key in sorted(names) if int(key[1].split("_")[0]) > LAST_BEFORE_THE_RULE]


def creates_table_of(migration: Migration, operation: AddIndex) -> bool:
    created = {model.name_lower for model in migration.operations if isinstance(model, CreateModel)}
    return operation.model_name_lower in created


def test_an_index_of_an_existing_table_is_built_concurrently(db: None) -> None:
    wrong = [
        f"{migration.name}: {operation.describe()}"
        for migration in migrations_under_the_rule()
        for operation in migration.operations
        if isinstance(operation, AddIndex)
        and not (isinstance(operation, AddIndexConcurrently) and not migration.atomic)
        and not creates_table_of(migration, operation)
    ]
    assert wrong == []
