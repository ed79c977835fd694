from django.db import migrations

from sessions_app.migrations._sql import execute_file

STORE_ALL_WORDS_AGAIN = '''
-- The sweep of the figures waits here, then takes all sessions up again.
UPDATE sessions_app_figuresprogress SET words_newest = NULL;
UPDATE sessions_app_sessionfigures SET words_seq = 0 WHERE words_seq > 0;
TRUNCATE sessions_app_eventwords;
'''


def separate_words(apps, schema_editor):
    execute_file(schema_editor, 'words.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0026_traceparent')]

    operations = [
        migrations.RunPython(separate_words, migrations.RunPython.noop),
        migrations.RunSQL(STORE_ALL_WORDS_AGAIN, migrations.RunSQL.noop),
    ]
