from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def keep_acts(apps, schema_editor):
    execute_file(schema_editor, 'erasing.sql')


class Migration(migrations.Migration):
    dependencies = [('sessions_app', '0012_details_of_acts')]

    operations = [
        migrations.AddField(
            'erasedsession',
            'acts',
            models.JSONField(default=list, db_default=models.Value([], models.JSONField())),
        ),
        migrations.RunPython(keep_acts, migrations.RunPython.noop),
    ]
