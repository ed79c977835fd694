"""Django system check of the roles of the database: what may the processes of the site do to evidence?

- W017  they connect as the owner of the tables, so they may change everything
- W018  a role of the processes may do more than `deploy/roles.sql` grants

Runs with `manage.py check --deploy --database default`, in the environment of the processes.
"""

from collections.abc import Sequence

from django.core.checks import CheckMessage
from django.db import DEFAULT_DB_ALIAS, connection

from sessions_app.agent_apps.checks import check_warning
from sessions_app.models import Event
from sessions_app.store.role_privileges import connects_as_owner, excess_privileges

HINT = 'Run deploy/roles.sql as the owner of the tables: docs/scaling.md, "The role of the processes in PostgreSQL".'


def check_role_privileges(databases: Sequence[str] | None = None, **kwargs: object) -> list[CheckMessage]:
    """Check the role of this connection, and the rights of all roles of processes."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    if Event._meta.db_table not in connection.introspection.table_names():
        return []
    messages: list[CheckMessage] = []
    if connects_as_owner():
        role = connection.settings_dict["USER"]
        text = f"This process connects as {role!r}, which has the rights of the owner of the tables."
        messages.append(check_warning("W017", text, HINT))
    messages += [
        check_warning("W018", f"Beyond deploy/roles.sql: {right}.", HINT) for right in excess_privileges()
    ]
    return messages
