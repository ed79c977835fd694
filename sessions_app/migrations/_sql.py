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
    """Return an operation that runs the SQL of the file. Reversed, it drops the functions that the file creates."""
    sql = _read(name)
    return migrations.RunSQL(sql, _drop_functions(sql))


def run_webhooks_file(name):
    """Like `run_file`, for SQL that finds the webhooks of groups: the project's user model decides on the tables."""
    sql = _read(name)

    def run(apps, schema_editor):
        schema_editor.execute(sql.replace('{webhooks_of_groups}', _webhooks_of_groups(schema_editor)), params=None)

    def reverse(apps, schema_editor):
        schema_editor.execute(_drop_functions(sql), params=None)

    return migrations.RunPython(run, reverse)


def _read(name):
    return Path(__file__).with_name(name).read_text()


def _drop_functions(sql):
    functions = re.findall(r'^CREATE (?:FUNCTION|AGGREGATE) (\w+)', sql, re.MULTILINE)
    return f'DROP ROUTINE IF EXISTS {", ".join(functions)} CASCADE'


def _webhooks_of_groups(schema_editor):
    """Return the part of the query with the tables of the user model; empty for a model without groups."""
    people = get_user_model()._meta
    try:
        groups = people.get_field('groups')
    except FieldDoesNotExist:
        return ''
    names = {
        'people': people.db_table,
        'person': people.pk.column,
        'members': groups.m2m_db_table(),
        'member': groups.m2m_column_name(),
        'group': groups.m2m_reverse_name(),
    }
    quoted = {key: schema_editor.quote_name(name) for key, name in names.items()}
    return WEBHOOKS_OF_GROUPS.format(**quoted)
