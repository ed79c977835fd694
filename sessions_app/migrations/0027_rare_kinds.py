from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0026_audit_indexes'),
    ]

    operations = [
        # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS event_of_rare_kind', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(fields=['kind', '-id'], name='event_of_rare_kind', condition=models.Q(kind__in=('error', 'state'))),
        ),
        RemoveIndexConcurrently(model_name='event', name='event_errors'),
    ]
