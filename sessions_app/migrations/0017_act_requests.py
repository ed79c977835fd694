import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from sessions_app.migrations._groups import permission

ACTIONS = (
    'add', 'change', 'delete', 'restore', 'stop', 'retry', 'ask', 'rewind', 'switch', 'answer', 'approve', 'reject',
    'withdraw', 'lift', 'share', 'revoke', 'alert',
)
ACTOR_KINDS = ('person', 'key', 'staff', 'job', 'schedule', 'agent', 'site')


def open_requests(apps, schema_editor):
    """Show the requests to the groups of staff that see the other records, unless the project changed the groups."""
    view = permission(apps, 'actrequest', 'view_actrequest')
    groups = apps.get_model('auth', 'Group').objects.filter(name__in=('auditor', 'privacy officer'))
    for group in groups.filter(permissions__codename='view_tombstone'):
        group.permissions.add(view)


def one_of(*values, **options):
    return models.CharField(max_length=16, choices=[(value, value.capitalize()) for value in values], **options)


def action_of(model):
    return migrations.AlterField(model_name=model, name='action', field=one_of(*ACTIONS))


def actor_fields():
    text = {'blank': True, 'default': '', 'db_default': ''}
    return [
        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
        ('actor_kind', one_of(*ACTOR_KINDS, **text)),
        ('actor_id', models.CharField(max_length=64, **text)),
        ('actor_name', models.CharField(max_length=254, **text)),
        ('address', models.GenericIPAddressField(blank=True, null=True)),
    ]


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0016_order_by_cost')]

    operations = [
        action_of('accountact'),
        action_of('sessionact'),
        action_of('staffact'),
        migrations.CreateModel(
            name='ActRequest',
            fields=[
                *actor_fields(),
                ('act', one_of('unmask', 'erase')),
                ('subject_kind', models.CharField(max_length=64)),
                ('subject_id', models.CharField(max_length=64)),
                ('reason', models.TextField()),
                (
                    'at',
                    models.DateTimeField('asked at', db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                'verbose_name': 'request to a second person',
                'verbose_name_plural': 'requests to a second person',
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['subject_kind', 'subject_id'], name='act_request_subject')],
            },
        ),
        migrations.CreateModel(
            name='ActRequestStep',
            fields=[
                *actor_fields(),
                (
                    'request',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name='steps',
                        to='sessions_app.actrequest',
                    ),
                ),
                ('kind', one_of('answer', 'act')),
                ('agrees', models.BooleanField(default=True)),
                ('reason', models.TextField(blank=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('request', 'kind'), name='act_request_step_once')],
            },
        ),
        migrations.RunPython(open_requests, migrations.RunPython.noop),
    ]
