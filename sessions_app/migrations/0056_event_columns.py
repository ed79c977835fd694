from pathlib import Path

from django.db import migrations

COLUMNS = (Path(__file__).parent / 'event_columns.sql').read_text()


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0055_lost_attempts'),
    ]

    operations = [
        migrations.RunSQL(COLUMNS, migrations.RunSQL.noop),
    ]
