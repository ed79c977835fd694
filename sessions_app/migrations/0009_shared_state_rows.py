from pathlib import Path

from django.db import migrations

ROWS = (Path(__file__).parent / 'shared_state_rows.sql').read_text()
DROP = 'DROP TRIGGER session_shared_state ON sessions_app_session; DROP FUNCTION adk_make_shared_state()'


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0008_running_jobs'),
    ]

    operations = [
        migrations.RunSQL(ROWS, DROP),
    ]
