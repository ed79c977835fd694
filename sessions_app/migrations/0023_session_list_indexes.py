import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.functions.text
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

INDEXES = {
    'session_in_list': ('session', models.Index(condition=models.Q(('archived_at', None), ('deleted_at', None)), fields=['user', '-updated_at', '-id'], name='session_in_list')),
    'session_archived': ('session', models.Index(condition=models.Q(('archived_at__isnull', False), ('deleted_at', None)), fields=['user', '-updated_at', '-id'], name='session_archived')),
    'session_pinned': ('session', models.Index(condition=models.Q(('archived_at', None), ('deleted_at', None), ('is_pinned', True)), fields=['user'], name='session_pinned')),
    'session_deleted': ('session', models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['deleted_at'], name='session_deleted')),
    'event_words': ('event', django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector(django.db.models.functions.text.Left('text', 100000), config='simple'), condition=models.Q(('text__isnull', False)), name='event_words')),
}


def build(name):
    # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
    model_name, index = INDEXES[name]
    return [
        migrations.RunSQL(f'DROP INDEX CONCURRENTLY IF EXISTS {name}', migrations.RunSQL.noop),
        AddIndexConcurrently(model_name=model_name, index=index),
    ]


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0022_session_list'),
    ]

    operations = [
        *(operation for name in INDEXES for operation in build(name)),
        RemoveIndexConcurrently('session', 'session_of_user'),
    ]
