import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import sessions_app.models.case_file
from sessions_app.migrations._groups import permission
from sessions_app.migrations._sql import run_file

ACTIONS = (
    'add', 'change', 'delete', 'restore', 'stop', 'retry', 'ask', 'rewind', 'switch', 'answer', 'approve', 'reject',
    'withdraw', 'lift', 'share', 'revoke', 'alert', 'read', 'seal',
)
ACTOR_KINDS = ('person', 'key', 'staff', 'job', 'schedule', 'agent', 'site')
RIGHTS = {'auditor': ('view', 'add', 'seal'), 'privacy officer': ('view',)}


def open_case_files(apps, schema_editor):
    """Give the groups of staff that see the other records the rights, unless the project changed the groups."""
    for name, verbs in RIGHTS.items():
        groups = apps.get_model('auth', 'Group').objects.filter(name=name)
        for group in groups.filter(permissions__codename='view_actrequest'):
            group.permissions.add(*(permission(apps, 'casefile', f'{verb}_casefile') for verb in verbs))


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


def of_case(related_name):
    return models.ForeignKey('sessions_app.casefile', django.db.models.deletion.PROTECT, related_name=related_name)


def now(*name):
    return models.DateTimeField(*name, db_default=django.db.models.functions.datetime.Now())


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0021_reading_alerts')]

    operations = [
        action_of('accountact'),
        action_of('sessionact'),
        action_of('staffact'),
        migrations.CreateModel(
            name='CaseFile',
            fields=[*actor_fields(), ('title', models.CharField(max_length=200)), ('at', now('made at'))],
            options={'permissions': [('seal_casefile', 'Can seal case file')], 'default_permissions': ('view', 'add')},
        ),
        migrations.CreateModel(
            name='CaseItem',
            fields=[
                *actor_fields(),
                ('case', of_case('items')),
                ('session_id', models.UUIDField(db_index=True)),
                ('seq', models.BigIntegerField(default=0, db_default=0)),
                ('at', now()),
            ],
            options={
                'default_permissions': (),
                'constraints': [
                    models.UniqueConstraint(fields=('case', 'session_id', 'seq'), name='case_item_once')
                ],
            },
        ),
        migrations.CreateModel(
            name='CaseEntry',
            fields=[
                *actor_fields(),
                ('case', of_case('entries')),
                ('kind', one_of('note', 'read', 'agreed', 'seal')),
                ('text', models.TextField(blank=True, max_length=10000)),
                ('sha256', models.CharField(blank=True, default='', db_default='', max_length=64)),
                (
                    'bundle',
                    models.FileField(
                        blank=True, max_length=255, upload_to=sessions_app.models.case_file.bundle_path
                    ),
                ),
                ('at', now()),
            ],
            options={
                'default_permissions': (),
                'verbose_name_plural': 'case entries',
                'constraints': [
                    models.UniqueConstraint(
                        fields=('case',), condition=models.Q(kind='seal'), name='case_file_sealed_once'
                    )
                ],
            },
        ),
        run_file('cases.sql'),
        migrations.RunPython(open_case_files, migrations.RunPython.noop),
    ]
