from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

ALLOWS_SESSION = models.Q(
    ('body__content__parts__contains', [{'functionResponse': {'name': 'adk_request_confirmation'}}]),
    ('body__content__regex', 'for(_s|S)ession'),
)
WITHDRAWS = ('body__customMetadata__has_key', 'adk_withdrawn_allowance')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0019_index_of_causes')]

    operations = [
        # A build that was interrupted leaves an invalid index.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS event_allowances', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(
                fields=['session', 'seq'],
                name='event_allowances',
                condition=models.Q(('author', 'user'), models.Q(ALLOWS_SESSION, WITHDRAWS, _connector='OR')),
            ),
        ),
    ]
