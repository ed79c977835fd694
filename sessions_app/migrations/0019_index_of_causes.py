from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.contrib.postgres.search import SearchVector
from django.db import migrations

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0018_words_of_events')]

    operations = [
        BuildIndex('failure', GinIndex(SearchVector('cause', config='simple'), name='failure_words')),
        RemoveIndexConcurrently('event', 'event_words'),
    ]
