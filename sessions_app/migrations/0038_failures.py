from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

INDEXES = [
    models.Index(fields=['-day', '-id'], name='failure_by_day'),
    models.Index(fields=['tool_name', 'cause', '-day', '-id'], name='failure_of_tool'),
]


def build(index):
    # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
    return [
        migrations.RunSQL(f'DROP INDEX CONCURRENTLY IF EXISTS {index.name}', migrations.RunSQL.noop),
        AddIndexConcurrently(model_name='failure', index=index),
    ]


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0037_staff_access'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='dayfigure',
            options={'default_permissions': ('view',), 'verbose_name': 'figure of a day', 'verbose_name_plural': 'overview'},
        ),
        *[operation for index in INDEXES for operation in build(index)],
        RemoveIndexConcurrently(model_name='failure', name='failure_by_cause'),
    ]
