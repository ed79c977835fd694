from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FUNCTIONS = (Path(__file__).parent / 'person_usage.sql').read_text()
DROP = '''
DROP TRIGGER artifact_bytes ON sessions_app_artifact;
DROP FUNCTION adk_count_artifact();
DROP FUNCTION adk_queue_is_full(uuid, integer);
'''


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('sessions_app', '0016_staff_acts'),
    ]

    operations = [
        migrations.CreateModel(
            name='PersonUsage',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='adk_usage', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('day', models.DateField(null=True)),
                ('tokens', models.BigIntegerField(db_default=0, default=0)),
                ('cost', models.FloatField(db_default=0.0, default=0.0)),
                ('artifact_bytes', models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
