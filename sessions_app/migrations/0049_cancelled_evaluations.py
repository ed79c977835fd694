from django.db import migrations, models

from sessions_app.migrations._permissions import add_to_groups


def let_operators_stop(apps, schema_editor):
    add_to_groups(apps, {'operator': [('evaluation', 'cancel_evaluation')]})


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0048_resumable_uploads'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='evaluation',
            options={'default_permissions': ('view',), 'permissions': [('cancel_evaluation', 'Can stop evaluation')]},
        ),
        migrations.AddField(
            model_name='evaluation',
            name='cancelled',
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name='evaluatedcase',
            name='status',
            field=models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('passed', 'Passed'), ('failed', 'Failed'), ('broken', 'Broken'), ('cancelled', 'Cancelled')], db_default='queued', max_length=16),
        ),
        migrations.RunPython(let_operators_stop, migrations.RunPython.noop),
    ]
