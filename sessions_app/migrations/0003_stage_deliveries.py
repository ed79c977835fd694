from django.db import migrations

from sessions_app.migrations._sql import execute_file


def stage_deliveries(apps, schema_editor):
    execute_file(schema_editor, 'deliveries.sql')


def tell_webhooks(apps, schema_editor):
    execute_file(schema_editor, 'webhooks.sql')
    execute_file(schema_editor, 'triggers.sql')
    schema_editor.execute('DROP FUNCTION adk_stage_deliveries')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0002_delete_resumable_upload')]

    operations = [migrations.RunPython(stage_deliveries, tell_webhooks)]
