from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


def _replace(old, new, column):
    """Return the operations that build an index in the place of another."""
    index = models.Index(fields=[f'-{column}', '-session'], name=new)
    return [
        BuildIndex('sessionfigures', index),
        RemoveIndexConcurrently('sessionfigures', old),
    ]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0015_search_of_staff_records')]

    operations = [
        *_replace('session_figures_cost', 'session_figures_by_cost', 'cost'),
        *_replace('session_figures_tokens', 'session_figures_by_tokens', 'tokens'),
    ]
