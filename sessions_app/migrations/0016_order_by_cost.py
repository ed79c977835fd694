from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


def _replace(old, new, column):
    """Return the operations that build an index in the place of another."""
    index = models.Index(fields=[f'-{column}', '-session'], name=new)
    return [
        # A build that was interrupted leaves an invalid index.
        migrations.RunSQL(f'DROP INDEX CONCURRENTLY IF EXISTS {new}', migrations.RunSQL.noop),
        AddIndexConcurrently(model_name='sessionfigures', index=index),
        RemoveIndexConcurrently(model_name='sessionfigures', name=old),
    ]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0015_search_of_staff_records')]

    operations = [
        *_replace('session_figures_cost', 'session_figures_by_cost', 'cost'),
        *_replace('session_figures_tokens', 'session_figures_by_tokens', 'tokens'),
    ]
