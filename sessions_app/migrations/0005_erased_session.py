import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def delete_by_functions(apps, schema_editor):
    execute_file(schema_editor, 'erasing.sql')


def permit_deletion(apps, schema_editor):
    schema_editor.execute('DROP FUNCTION adk_acts_to_keep, adk_erase_session, adk_erase_account, adk_delete_accesses')
    schema_editor.execute('DROP FUNCTION adk_refuse_rewrite CASCADE')
    execute_file(schema_editor, 'guards.sql')


def of_session(name, **options):
    return migrations.AlterField(
        model_name=name,
        name='session',
        field=models.ForeignKey(
            on_delete=django.db.models.deletion.DO_NOTHING, to='sessions_app.session', **options
        ),
    )


def of_user(name, **options):
    return migrations.AlterField(
        model_name=name,
        name='user',
        field=models.ForeignKey(
            on_delete=django.db.models.deletion.DO_NOTHING,
            related_name='+',
            to=settings.AUTH_USER_MODEL,
            **options,
        ),
    )


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('sessions_app', '0004_job_phases'),
    ]

    operations = [
        migrations.CreateModel(
            name='ErasedSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_id', models.UUIDField(db_index=True)),
                ('last_seq', models.BigIntegerField()),
                ('hash', models.BinaryField(null=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    'tombstone',
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name='erased_sessions',
                        to='sessions_app.tombstone',
                    ),
                ),
            ],
            options={'default_permissions': ()},
        ),
        migrations.AlterField(
            model_name='tombstone',
            name='kind',
            field=models.CharField(
                choices=[('session', 'Session'), ('person', 'Person'), ('accesses', 'Accesses')], max_length=16
            ),
        ),
        of_session('event', related_name='events', db_index=False),
        of_session('sessionact', related_name='acts'),
        of_session('invocation', related_name='invocations', db_index=False),
        of_session('legalhold', related_name='legal_holds', null=True, blank=True),
        of_user('legalhold', null=True, blank=True),
        of_user('accountact'),
        migrations.RunPython(delete_by_functions, permit_deletion),
    ]
