from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex
from sessions_app.models.event import WordsOf


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0027_parts_of_names')]

    operations = [
        BuildIndex(
            'session',
            GinIndex(
                WordsOf('title'),
                condition=models.Q(('title_source', 'message'), _negated=True),
                name='session_title_parts',
            ),
        ),
        BuildIndex(
            'invocation',
            GinIndex(
                WordsOf('error_message'),
                condition=models.Q(('error_message', ''), _negated=True),
                name='invocation_error_parts',
            ),
        ),
        BuildIndex(
            'tooljob',
            GinIndex(
                WordsOf('error'), condition=models.Q(('error', ''), _negated=True), name='tool_job_error_parts'
            ),
        ),
        BuildIndex('failure', GinIndex(WordsOf('cause'), name='failure_parts')),
        RemoveIndexConcurrently('session', 'session_title_words'),
        RemoveIndexConcurrently('invocation', 'invocation_error_words'),
        RemoveIndexConcurrently('tooljob', 'tool_job_error_words'),
        RemoveIndexConcurrently('failure', 'failure_words'),
    ]
