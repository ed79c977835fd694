from django.db import migrations

from sessions_app.migrations._sql import execute_file


def keep_acts_of_the_session(apps, schema_editor):
    execute_file(schema_editor, 'erasing.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0043_move_memory_vectors')]

    operations = [migrations.RunPython(keep_acts_of_the_session, migrations.RunPython.noop)]
