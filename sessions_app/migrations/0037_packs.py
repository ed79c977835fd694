import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def keep_packs(apps, schema_editor):
    for name in ('chain.sql', 'erasing.sql', 'packs.sql'):
        execute_file(schema_editor, name)


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0036_remembered_facts')]

    operations = [
        migrations.AddField('session', 'packed_at', models.DateTimeField(editable=False, null=True)),
        migrations.CreateModel(
            name='Pack',
            fields=[
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, serialize=False, to='sessions_app.session')),
                ('file', models.FileField(max_length=255, upload_to='')),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('last_seq', models.BigIntegerField()),
                ('digest', models.BinaryField()),
                ('hash', models.BinaryField()),
                ('acts', models.JSONField()),
                ('packed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('opened_at', models.DateTimeField(null=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        # Not undone: the events of packed sessions are in their files only.
        migrations.RunPython(keep_packs),
    ]
