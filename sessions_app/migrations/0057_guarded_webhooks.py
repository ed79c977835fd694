from pathlib import Path

from django.db import migrations

GUARDED = (Path(__file__).parent / 'guarded_webhooks.sql').read_text()


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0056_event_columns'),
    ]

    operations = [
        migrations.RunSQL(GUARDED, migrations.RunSQL.noop),
    ]
