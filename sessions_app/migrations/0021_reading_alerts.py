from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

ACTIONS = (
    'add', 'change', 'delete', 'restore', 'stop', 'retry', 'ask', 'rewind', 'switch', 'answer', 'approve', 'reject',
    'withdraw', 'lift', 'share', 'revoke', 'alert',
)
EVENTS = [
    ('run.ended', 'A run has ended'),
    ('approval.needed', 'A call or a question waits for somebody'),
    ('job.ended', 'A job has ended'),
    ('task.changed', 'A task of A2A may have come to rest'),
    ('reading.unusual', 'A member of staff reads unusually much, or at unusual hours'),
    ('test', 'Somebody asked for a test'),
]


def action_of(model):
    choices = [(action, action.capitalize()) for action in ACTIONS]
    return migrations.AlterField(model, 'action', models.CharField(max_length=16, choices=choices))


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0020_allowances')]

    operations = [
        action_of('accountact'),
        action_of('sessionact'),
        action_of('staffact'),
        migrations.AlterField('webhook', 'events', ArrayField(models.CharField(max_length=32, choices=EVENTS))),
        migrations.AlterField('webhookdelivery', 'event', models.CharField(max_length=32, choices=EVENTS)),
    ]
