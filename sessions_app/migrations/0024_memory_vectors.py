import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import sessions_app.models.memory


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0023_service_of_credential')]

    operations = [
        migrations.AddField('memoryentry', 'embedded_by', models.BigIntegerField(db_default=0, default=0)),
        migrations.CreateModel(
            name='EmbeddingModel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('dimensions', models.PositiveIntegerField()),
                ('made_at', models.DateTimeField(auto_now_add=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('tokens', models.BigIntegerField(default=0)),
                ('cost', models.FloatField(default=0.0)),
            ],
            options={'default_permissions': ()},
        ),
        migrations.CreateModel(
            name='MemoryVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('numbers', django.contrib.postgres.fields.ArrayField(base_field=sessions_app.models.memory.RealField(), size=None)),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='vectors', to='sessions_app.memoryentry')),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.embeddingmodel')),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('entry', 'model'), name='memory_vector_unique_model')],
            },
        ),
        # A vector that is stored while its entry is erased goes with it: Django would delete in two statements.
        # The rows are read with their numbers, so these stay in the table, of which a page has 8160 bytes for rows.
        migrations.RunSQL(
            '''
            ALTER TABLE sessions_app_memoryvector ADD CONSTRAINT memory_vector_of_entry
                FOREIGN KEY (entry_id) REFERENCES sessions_app_memoryentry (id) ON DELETE CASCADE;
            ALTER TABLE sessions_app_memoryvector SET (toast_tuple_target = 8160);
            ''',
            migrations.RunSQL.noop,
        ),
    ]
