from django.db import migrations

from sessions_app.migrations._sql import execute_file


def lock_told_webhooks(apps, schema_editor):
    execute_file(schema_editor, 'deliveries.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0046_right_to_run_evaluations')]

    operations = [migrations.RunPython(lock_told_webhooks, migrations.RunPython.noop)]
