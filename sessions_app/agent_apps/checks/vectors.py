"""Django system check of the database: is the search of memory by meaning prepared?

- W012  it is not, so memory finds words only

Runs with `manage.py migrate` and `manage.py check --database default`, as other checks that make connections.
"""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning
from django.db import DEFAULT_DB_ALIAS, connection
from pydantic import ValidationError

from sessions_app.conf import conf
from sessions_app.models import EmbeddingModel
from sessions_app.store.memory_vectors import target_model


def check_vectors(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the newest row of the embedding models is that of the settings."""
    try:
        embeddings = conf().embeddings
    except ValidationError:  # `check_settings` reports it
        return []
    if DEFAULT_DB_ALIAS not in (databases or ()) or not embeddings:
        return []
    # The first `migrate` runs the checks before there is any table.
    if EmbeddingModel._meta.db_table not in connection.introspection.table_names() or target_model():
        return []
    name = next(iter(embeddings))
    return [
        Warning(
            f"Memory finds words only: the database is not prepared for vectors of {name!r}.",
            hint=(
                "Run `manage.py migrate`. If this stays, PostgreSQL lacks the extension 'vector' or has one older than "
                "0.8, or the user of the database may not create it: docs/memory-and-artifacts.md."
            ),
            id="sessions_app.W012",
        )
    ]
