"""SQL of migrations, in files of this folder."""

import re
from pathlib import Path

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import migrations

WEBHOOKS_OF_GROUPS = """\
        UNION ALL
        SELECT h.id FROM sessions_app_session s
            JOIN {members} m ON m.{member} = s.user_id
            JOIN sessions_app_webhook h ON h.people_id = m.{group}
            JOIN {people} p ON p.{person} = s.user_id AND p.is_active AND NOT p.is_staff AND NOT p.is_superuser
            WHERE s.id = session
"""


def run_file(name):
    """Return an operation that executes the SQL of a file. Reversed, it drops the functions that the file creates."""

    def execute(apps, schema_editor):
        execute_file(schema_editor, name)

    def drop_functions(apps, schema_editor):
        functions = re.findall(r'^CREATE OR REPLACE (?:FUNCTION|AGGREGATE) (\w+)', _read(name), re.MULTILINE)
        schema_editor.execute(f'DROP ROUTINE IF EXISTS {", ".join(functions)} CASCADE')

    return migrations.RunPython(execute, drop_functions)


def execute_file(schema_editor, name):
    """Execute the SQL of a file.

    `{webhooks_of_groups}` depends on the project's user model, and `{schema}` is the schema of the tables.
    """
    sql = _read(name).replace('{webhooks_of_groups}', _webhooks_of_groups(schema_editor))
    sql = sql.replace('{schema}', _schema(schema_editor))
    schema_editor.execute(sql, params=None)


def _read(name):
    return Path(__file__).with_name(name).read_text()


def _schema(schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute('SELECT quote_ident(current_schema())')
        return cursor.fetchone()[0]


def _webhooks_of_groups(schema_editor):
    """Return a query for the webhooks of the user's groups; empty if the user model has no groups."""
    user = get_user_model()._meta
    try:
        groups = user.get_field('groups')
    except FieldDoesNotExist:
        return ''
    names = {
        'people': user.db_table,
        'person': user.pk.column,
        'members': groups.m2m_db_table(),
        'member': groups.m2m_column_name(),
        'group': groups.m2m_reverse_name(),
    }
    quoted = {key: schema_editor.quote_name(name) for key, name in names.items()}
    return WEBHOOKS_OF_GROUPS.format(**quoted)
