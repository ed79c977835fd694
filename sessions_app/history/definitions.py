"""Comparison of the code in the database that computes hashes with the files of the migrations.

The owner of the tables can replace a function by one that finds each forged event as written, or a table by a view that
shows the checks other rows than the site. The roots alone would not reveal it: they have hashes, not the events.
"""

import re
from pathlib import Path

from django.apps import apps
from django.db import connection

FOLDER = Path(__file__).parent.parent / "migrations"
FILES = ("functions.sql", "chain.sql", "evidence.sql")
_FUNCTION = re.compile(r"^CREATE OR REPLACE FUNCTION (\w+)\(.*?AS \$\$(.*?)\$\$", re.MULTILINE | re.DOTALL)
_AGGREGATE = re.compile(r"^CREATE OR REPLACE AGGREGATE (\w+)\(.*?SFUNC = (\w+)", re.MULTILINE)
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


def changed_definitions() -> list[str]:
    """Return what in the database is not as this version of the site defines it, such as `function adk_facts`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        (schema,) = cursor.fetchone()
        expected = _expected(schema)
        cursor.execute(_FUNCTIONS, [list(expected)])
        settings = ("", _SEARCH_PATH.format(schema=schema))
        stored: dict[str, list[str]] = {name: [] for name in expected}
        for name, source, setting in cursor.fetchall():
            stored[name].append(source if setting in settings else "")
        changed = [f"function {name}" for name, sources in stored.items() if sources != [expected[name]]]
        cursor.execute(_IN_PLACE)
        changed += [f"function {name}" for (name,) in cursor.fetchall()]
        tables = [model._meta.db_table for model in apps.get_app_config("sessions_app").get_models()]
        cursor.execute(_NO_TABLES, [tables])
        changed += [f"table {name}" for (name,) in cursor.fetchall()]
    return sorted(changed)


def _expected(schema: str) -> dict[str, str]:
    """Return the sources of functions and the functions of aggregates, by name."""
    text = "".join((FOLDER / name).read_text() for name in FILES).replace("{schema}", schema)
    return dict(_FUNCTION.findall(text)) | dict(_AGGREGATE.findall(text))
