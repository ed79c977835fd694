from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

EVENTS = [
    ('run.ended', 'A run has ended'),
    ('approval.needed', 'A call or a question waits for somebody'),
    ('job.ended', 'A job has ended'),
    ('task.changed', 'A task of A2A may have come to rest'),
    ('reading.unusual', 'A member of staff reads unusually much, or at unusual hours'),
    ('test', 'Somebody asked for a test'),
]


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0020_allowances')]

    operations = [
        migrations.AlterField('webhook', 'events', ArrayField(models.CharField(max_length=32, choices=EVENTS))),
        migrations.AlterField('webhookdelivery', 'event', models.CharField(max_length=32, choices=EVENTS)),
    ]
