from django.contrib.postgres.indexes import GinIndex, HashIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations, models
from django.db.models.functions import Cast


def words(column, name, condition=None):
    return GinIndex(SearchVector(column, config='simple'), name=name, condition=condition)


INDEXES = [
    ('event', HashIndex(fields=['event_id'], name='event_by_id')),
    ('event', models.Index(fields=['-id'], name='event_errors', condition=models.Q(kind='error'))),
    ('invocation', models.Index(fields=['client_id'], name='invocation_by_client_id')),
    ('invocation', models.Index(fields=['status', '-id'], name='invocation_not_completed', condition=~models.Q(status='completed'))),
    ('invocation', words('error_message', 'invocation_error_words', ~models.Q(error_message=''))),
    ('session', models.Index(fields=['key'], name='session_by_key', condition=~models.Q(key=Cast('id', models.TextField())))),
    ('session', words('title', 'session_title_words', ~models.Q(title_source='message'))),
    ('tooljob', models.Index(fields=['-created_at', '-id'], name='tool_job_by_age')),
    ('tooljob', models.Index(fields=['tool_name', '-created_at'], name='tool_job_of_tool')),
    ('tooljob', models.Index(fields=['call_id'], name='tool_job_by_call')),
    ('tooljob', models.Index(fields=['invocation_id'], name='tool_job_by_invocation')),
    ('tooljob', words('error', 'tool_job_error_words', ~models.Q(error=''))),
]


def build(model_name, index):
    # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
    return [
        migrations.RunSQL(f'DROP INDEX CONCURRENTLY IF EXISTS {index.name}', migrations.RunSQL.noop),
        AddIndexConcurrently(model_name=model_name, index=index),
    ]


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0025_title_of_model'),
    ]

    operations = [operation for index in INDEXES for operation in build(*index)]
