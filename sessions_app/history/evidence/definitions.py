"""Comparison of the database's definitions that evidence rests on with the migrations and the models.

The owner of the tables can replace a function by one that finds each forged event as written, or a table by a view that
shows the checks other rows than the site. The roots alone would not reveal it: they have hashes, not the events. Nor do
hashes cover the columns that PostgreSQL generates from an event's JSON, such as its author and its time.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from django.apps import apps
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

from sessions_app.models import Event

FOLDER = Path(__file__).parent.parent.parent / "migrations"
FILES = (
    "functions.sql", "guards.sql", "chain.sql", "evidence.sql", "erasing.sql", "packs.sql", "cases.sql",
)  # fmt: skip
"""Functions and triggers that compute hashes, and keep or record evidence. A later file replaces earlier functions."""
_FUNCTION = re.compile(r"^CREATE OR REPLACE FUNCTION (\w+)\(.*?AS \$\$(.*?)\$\$", re.MULTILINE | re.DOTALL)
_AGGREGATE = re.compile(r"^CREATE OR REPLACE AGGREGATE (\w+)\(.*?SFUNC = (\w+)", re.MULTILINE)
_TRIGGER = re.compile(r"^CREATE OR REPLACE TRIGGER (\w+) [^;]*?\bON (\w+)([^;]*)", re.MULTILINE)
_SEARCH_PATH = "search_path=pg_catalog, {schema}, pg_temp"
"""The only setting that a function may have."""
_FUNCTIONS = """
SELECT p.proname, coalesce(a.aggtransfn::text, p.prosrc), coalesce(array_to_string(p.proconfig, ' '), '')
FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid
WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY(%s)"""
# PostgreSQL prefers the function that fits the arguments best, wherever it is. Those of extensions are no forgeries.
_IN_PLACE = """
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p
WHERE p.pronamespace = current_schema()::regnamespace
    AND p.proname IN (SELECT proname FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace)
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"""
_NO_TABLES = """
SELECT relname FROM pg_catalog.pg_class
WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s) AND (relkind <> 'r' OR relrowsecurity)"""

_TRIGGERS = """
SELECT t.tgname, c.relname, t.tgqual IS NOT NULL
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled IN ('O', 'A')"""
_GENERATED = """
SELECT a.attname, pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attgenerated = 's'"""
# Of the roles that may read the table, and of all roles.
_SETTINGS = """
SELECT coalesce(r.rolname, 'all roles'), split_part(setting, '=', 1), split_part(setting, '=', 2)
FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole, unnest(s.setconfig) setting
WHERE s.setdatabase IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))
    AND (r.oid IS NULL OR has_table_privilege(r.oid, %s::regclass, 'SELECT'))"""
_OTHER_SCHEMAS = """
SELECT DISTINCT relnamespace::regnamespace::text FROM pg_catalog.pg_class
WHERE relname = ANY(%s) AND relnamespace <> current_schema()::regnamespace"""


def changed_definitions() -> list[str]:
    """Return what in the database is not as this version of the site defines it, such as `function adk_facts`."""
    tables = [model._meta.db_table for model in apps.get_app_config("sessions_app").get_models()]
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        cursor.execute(_NO_TABLES, [tables])
        false_tables = {name for (name,) in cursor.fetchall()}
        changed = [f"table {name}" for name in false_tables]
        changed += _changed_functions(cursor, schema)
        for table, name in (*_changed_triggers(cursor, schema), *_changed_columns(cursor)):
            if table not in false_tables:
                changed.append(f"{name} of {table}")
        changed += _settings_that_mislead(cursor, schema, tables)
    return sorted(changed)


def _changed_functions(cursor: CursorWrapper, schema: str) -> Iterator[str]:
    expected = dict(_FUNCTION.findall(_code(schema))) | dict(_AGGREGATE.findall(_code(schema)))
    cursor.execute(_FUNCTIONS, [list(expected)])
    settings = ("", _SEARCH_PATH.format(schema=schema))
    stored: dict[str, list[str]] = {name: [] for name in expected}
    for name, source, setting in cursor.fetchall():
        stored[name].append(source if setting in settings else "")
    for name, sources in stored.items():
        if sources != [expected[name]]:
            yield f"function {name}"
    cursor.execute(_IN_PLACE)
    for (name,) in cursor.fetchall():
        yield f"function {name}"


def _changed_triggers(cursor: CursorWrapper, schema: str) -> Iterator[tuple[str, str]]:
    """Yield the table and the name of each trigger that is missing, disabled, or has another condition."""
    cursor.execute(_TRIGGERS)
    stored = set(cursor.fetchall())
    for name, table, rest in _TRIGGER.findall(_code(schema)):
        if (name, table, "WHEN" in rest) not in stored:
            yield table, f"trigger {name}"


def _changed_columns(cursor: CursorWrapper) -> Iterator[tuple[str, str]]:
    """Yield the table of events, and each column that is not generated as its model says."""
    table = Event._meta.db_table
    cursor.execute(_GENERATED, [table])
    stored = dict(cursor.fetchall())
    for field in Event._meta.concrete_fields:
        if isinstance(field, models.GeneratedField):
            sql, parameters = field.generated_sql(connection)
            expected = sql % tuple(f"'{parameter}'" for parameter in parameters)
            if _plain(stored.get(field.column, "")) != _plain(expected):
                yield table, f"column {field.column}"


def _plain(expression: str) -> str:
    """Return an expression without what PostgreSQL adds when it shows the expression."""
    return re.sub(r'::text|[()" ]', "", expression)


def _settings_that_mislead(cursor: CursorWrapper, schema: str, tables: list[str]) -> Iterator[str]:
    """Yield the settings by which roles read other tables of these names than the checks, or write without triggers."""
    cursor.execute(_OTHER_SCHEMAS, [tables])
    others = {name for (name,) in cursor.fetchall()}
    cursor.execute(_SETTINGS, [Event._meta.db_table])
    for role, name, value in cursor.fetchall():
        is_elsewhere = name == "search_path" and _leads_elsewhere(value, schema, others)
        if is_elsewhere or (name == "session_replication_role" and value != "origin"):
            yield f"setting {name} of {role}"


def _leads_elsewhere(path: str, schema: str, others: set[str]) -> bool:
    """True if one of the other schemas comes before the schema in this search path."""
    for name in map(str.strip, path.split(",")):
        if name == schema:
            return False
        if name in others:
            return True
    return False


def _code(schema: str) -> str:
    return "".join((FOLDER / name).read_text() for name in FILES).replace("{schema}", schema)
