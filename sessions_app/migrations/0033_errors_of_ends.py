from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def record_errors(apps, schema_editor):
    execute_file(schema_editor, 'evidence.sql')
    execute_file(schema_editor, 'cases.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0032_slack')]

    operations = [
        migrations.AddField('recordedend', 'error_hash', models.BinaryField(null=True)),
        # Not undone: without its column the triggers would let no invocation end.
        migrations.RunPython(record_errors),
    ]
