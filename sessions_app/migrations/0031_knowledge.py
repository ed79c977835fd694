import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import sessions_app.models.knowledge
import sessions_app.models.memory
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('sessions_app', '0030_waiting_mail'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='KnowledgePassage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('heading', models.CharField(blank=True, max_length=500)),
                ('page', models.PositiveIntegerField(null=True)),
                ('text', models.TextField()),
                ('words', models.TextField()),
                ('vector', models.GeneratedField(db_persist=True, expression=django.contrib.postgres.search.SearchVector('words', config='simple'), output_field=django.contrib.postgres.search.SearchVectorField())),
                ('embedded_by', models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='KnowledgeBase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('description', models.TextField(blank=True, help_text='For staff.')),
                ('app_name', models.CharField(blank=True, help_text='Empty for all apps.', max_length=128, verbose_name='app')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('people', models.ForeignKey(blank=True, help_text='Group of the people who may read it; empty for everybody.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='auth.group')),
            ],
        ),
        migrations.CreateModel(
            name='KnowledgeDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('base', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='sessions_app.knowledgebase')),
            ],
        ),
        migrations.CreateModel(
            name='KnowledgeSearch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('invocation_id', models.CharField(max_length=255)),
                ('agent_name', models.CharField(max_length=255)),
                ('bases', models.TextField(blank=True)),
                ('query', models.TextField()),
                ('found', models.PositiveIntegerField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='knowledge_searches', to='sessions_app.session')),
            ],
            options={
                'verbose_name_plural': 'knowledge searches',
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='KnowledgeUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version_number', models.PositiveIntegerField()),
                ('place', models.CharField(blank=True, max_length=600)),
                ('rank', models.PositiveIntegerField()),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='sessions_app.knowledgedocument')),
                ('passage', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='uses', to='sessions_app.knowledgepassage')),
                ('search', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='sessions_app.knowledgesearch')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='KnowledgeVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('numbers', django.contrib.postgres.fields.ArrayField(base_field=sessions_app.models.memory.RealField(), size=None)),
                ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.embeddingmodel')),
                ('passage', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='vectors', to='sessions_app.knowledgepassage')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='KnowledgeVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('file', models.FileField(max_length=255, upload_to=sessions_app.models.knowledge.storage_path)),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('reading', 'Reading'), ('embedding', 'Embedding'), ('current', 'Current'), ('replaced', 'Replaced'), ('failed', 'Failed')], db_default='queued', max_length=16)),
                ('error', models.TextField(blank=True, db_default='')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('attempts', models.PositiveIntegerField(db_default=0)),
                ('sends', models.PositiveIntegerField(db_default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='sessions_app.knowledgedocument')),
                ('uploaded_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='knowledgepassage',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passages', to='sessions_app.knowledgeversion'),
        ),
        migrations.AddConstraint(
            model_name='knowledgedocument',
            constraint=models.UniqueConstraint(fields=('base', 'name'), name='knowledge_document_once'),
        ),
        migrations.AddConstraint(
            model_name='knowledgevector',
            constraint=models.UniqueConstraint(fields=('passage', 'model'), name='knowledge_vector_unique_model'),
        ),
        migrations.AddIndex(
            model_name='knowledgeversion',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'reading', 'embedding'))), fields=['id'], name='knowledge_version_open'),
        ),
        migrations.AddConstraint(
            model_name='knowledgeversion',
            constraint=models.UniqueConstraint(fields=('document', 'number'), name='knowledge_version_once'),
        ),
        migrations.AddConstraint(
            model_name='knowledgeversion',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'current')), fields=('document',), name='knowledge_version_one_current'),
        ),
        migrations.AddIndex(
            model_name='knowledgepassage',
            index=django.contrib.postgres.indexes.GinIndex(fields=['vector'], name='knowledge_passage_words'),
        ),
        migrations.AddIndex(
            model_name='knowledgepassage',
            index=models.Index(condition=models.Q(('words', ''), _negated=True), fields=['embedded_by', 'id'], name='knowledge_passage_to_embed'),
        ),
        migrations.AddConstraint(
            model_name='knowledgepassage',
            constraint=models.UniqueConstraint(fields=('version', 'position'), name='knowledge_passage_once'),
        ),
        # As for the vectors of memory entries: see 0024_memory_vectors.
        migrations.RunSQL(
            '''
            ALTER TABLE sessions_app_knowledgevector ADD CONSTRAINT knowledge_vector_of_passage
                FOREIGN KEY (passage_id) REFERENCES sessions_app_knowledgepassage (id) ON DELETE CASCADE;
            ALTER TABLE sessions_app_knowledgevector SET (toast_tuple_target = 8160);
            ''',
            migrations.RunSQL.noop,
        ),
    ]
