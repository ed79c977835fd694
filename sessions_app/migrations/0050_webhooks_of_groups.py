from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import migrations, models

HERE = Path(__file__).parent


def tell_groups(apps, schema_editor):
    """Replace the function that stages deliveries, unless the project's people have no groups."""
    people = get_user_model()._meta
    try:
        groups = people.get_field('groups')
    except FieldDoesNotExist:
        return
    names = {
        'people': people.db_table,
        'person': people.pk.column,
        'members': groups.m2m_db_table(),
        'member': groups.m2m_column_name(),
        'group': groups.m2m_reverse_name(),
    }
    quoted = {key: schema_editor.quote_name(name) for key, name in names.items()}
    schema_editor.execute((HERE / 'webhooks_of_groups.sql').read_text().format(**quoted), params=None)


def tell_no_groups(apps, schema_editor):
    before = (HERE / 'webhooks.sql').read_text()
    function = before[before.index('CREATE FUNCTION') : before.index('END $$;') + len('END $$;')]
    schema_editor.execute(function.replace('CREATE', 'CREATE OR REPLACE', 1), params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('sessions_app', '0049_cancelled_evaluations'),
    ]

    operations = [
        migrations.AddField(
            model_name='webhook',
            name='people',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group'),
        ),
        migrations.RunPython(tell_groups, tell_no_groups),
    ]
