from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def record_ends(apps, schema_editor):
    execute_file(schema_editor, 'evidence.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0033_errors_of_ends')]

    operations = [
        migrations.AddField('recordedend', 'job_id', models.UUIDField(null=True)),
        # Not undone: without its column the triggers would let no job end.
        migrations.RunPython(record_ends),
    ]
