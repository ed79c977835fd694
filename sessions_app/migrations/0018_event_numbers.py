from pathlib import Path

from django.db import migrations

NUMBERS = (Path(__file__).parent / 'event_numbers.sql').read_text()


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0017_person_usage'),
    ]

    operations = [
        migrations.RunSQL(NUMBERS, migrations.RunSQL.noop),
    ]
