from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0018_words_of_events')]

    operations = [
        # A build that was interrupted leaves an invalid index.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS failure_words', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='failure', index=GinIndex(SearchVector('cause', config='simple'), name='failure_words')
        ),
        RemoveIndexConcurrently(model_name='event', name='event_words'),
    ]
