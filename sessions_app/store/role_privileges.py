"""Privileges of PostgreSQL's roles to change evidence, beyond those that `deploy/roles.sql` grants.

A grant of an operator, such as `GRANT ALL ON ALL TABLES`, gives a process that was taken over the means to rewrite
evidence: the triggers of the tables refuse a part of it only.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from sessions_app.models import Event

PREFIX = "sessions_app_"
CHANGED = {
    "event": "",
    "sessionact": "",
    "staffact": "",
    "accountact": "",
    "staffaccess": "",
    "actrequest": "",
    "actrequeststep": "",
    "casefile": "",
    "caseitem": "",
    "caseentry": "",
    "tombstone": "counts finished_at by_id",
    "legalhold": "lifted_at lifted_by_id lifted_by_name lift_reason set_by_id",
    "invocation": (
        "client_id status owner attempts past_attempts credentials error_code error_message error_detail "
        "agent_version cancel_requested_at cancelled_by_id cancelled_by_name cancel_reason started_at finished_at"
    ),
}
"""Columns that the processes change, by table. They insert rows too, whose primary keys the database chooses."""
READ = ("erasedsession", "recordedend", "pack")
"""Tables that only functions of the database change."""
DELETED = ("session", "artifact")
"""Tables of which the processes delete rows, too."""
FIXED_OF_SESSION = frozenset("id app_name user_id key initial_state log_hash packed_at".split())

_ROLES = """
SELECT r.rolname, CASE
    WHEN r.rolsuper THEN 'is a superuser'
    WHEN pg_has_role(r.oid, c.relowner, 'MEMBER') THEN 'has the rights of the owner of the tables'
END, array_remove(ARRAY[
    CASE WHEN r.rolcreaterole THEN 'may create roles' END,
    CASE WHEN has_parameter_privilege(r.oid, 'session_replication_role', 'SET') THEN 'may write without triggers' END,
    CASE WHEN has_schema_privilege(r.oid, c.relnamespace, 'CREATE') THEN 'may create tables and functions' END,
    CASE WHEN has_database_privilege(r.oid, current_database(), 'TEMPORARY, CREATE') THEN
        'may create temporary tables or schemas'
    END
], NULL)
FROM pg_catalog.pg_roles r, pg_catalog.pg_class c
WHERE c.oid = %s::regclass AND r.oid <> c.relowner AND r.rolcanlogin
    AND EXISTS (SELECT FROM aclexplode(c.relacl) granted WHERE granted.grantee = r.oid)
ORDER BY r.rolname"""
_COLUMN_PRIVILEGES = """
SELECT c.relname, a.attname, has_column_privilege(%(role)s, c.oid, a.attnum, 'INSERT'),
    has_column_privilege(%(role)s, c.oid, a.attnum, 'UPDATE')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%(tables)s)
    AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY c.relname, a.attnum"""
_TABLE_PRIVILEGES = """
SELECT c.relname, word FROM pg_catalog.pg_class c, unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) word
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(%(tables)s)
    AND has_table_privilege(%(role)s, c.oid, word)
ORDER BY c.relname, word"""


def excess_privileges() -> list[str]:
    """Return privileges beyond `deploy/roles.sql` that roles of processes have, such as `site_web: DELETE on x`.

    Roles of processes may sign in, and have privileges of their own on the table of events, without owning it.
    """
    found: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute(_ROLES, [Event._meta.db_table])
        for role, everything, attributes in cursor.fetchall():
            if everything:
                found.append(f"{role}: {everything}")
                continue
            found += [f"{role}: {attribute}" for attribute in attributes]
            found += [f"{role}: {right}" for right in _excess_on_tables(cursor, role)]
    return found


def connects_as_owner() -> bool:
    """Return True if this process has the rights of the owner of the tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_has_role(relowner, 'MEMBER') FROM pg_catalog.pg_class WHERE oid = %s::regclass",
            [Event._meta.db_table],
        )
        return bool(cursor.fetchone()[0])


def _excess_on_tables(cursor: CursorWrapper, role: str) -> Iterator[str]:
    names = (*CHANGED, *READ, *DELETED)
    parameters: dict[str, Any] = {"role": role, "tables": [PREFIX + name for name in names]}
    cursor.execute(_COLUMN_PRIVILEGES, parameters)
    columns: dict[str, list[str]] = {}
    for table, column, may_insert, may_update in cursor.fetchall():
        name = table.removeprefix(PREFIX)
        if may_insert and not _may_insert(name, column):
            columns.setdefault(f"INSERT on {table}", []).append(column)
        if may_update and not _may_update(name, column):
            columns.setdefault(f"UPDATE on {table}", []).append(column)
    for right, of_right in columns.items():
        yield f"{right} ({', '.join(of_right)})"
    cursor.execute(_TABLE_PRIVILEGES, parameters)
    for table, word in cursor.fetchall():
        if word != "DELETE" or table.removeprefix(PREFIX) not in DELETED:
            yield f"{word} on {table}"


def _may_insert(name: str, column: str) -> bool:
    return name in DELETED or (name in CHANGED and column != "id")


def _may_update(name: str, column: str) -> bool:
    if name == "session":
        return column not in FIXED_OF_SESSION
    return column in CHANGED.get(name, "").split()
