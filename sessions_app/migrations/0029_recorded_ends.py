import django.db.models.functions.datetime
from django.db import migrations, models

from sessions_app.migrations._sql import execute_file


def record_ends(apps, schema_editor):
    execute_file(schema_editor, 'evidence.sql')
    execute_file(schema_editor, 'erasing.sql')


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0028_index_parts_of_names')]

    operations = [
        migrations.CreateModel(
            name='RecordedEnd',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=16)),
                ('subject_id', models.BigIntegerField()),
                ('erased_with', models.CharField(max_length=64)),
                ('hash', models.BinaryField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['erased_with', 'kind', 'subject_id'], name='recorded_end_of_row')],
            },
        ),
        # Not undone: without its table the triggers would let no invocation end.
        migrations.RunPython(record_ends),
    ]
