from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0039_annotations'),
    ]

    operations = [
        # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS event_shared_state', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(
                condition=models.Q(('body__actions__stateDelta__regex', '"(app|user):')),
                fields=['id'],
                name='event_shared_state',
            ),
        ),
    ]
