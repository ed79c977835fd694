from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex

ALLOWS_SESSION = models.Q(
    ('body__content__parts__contains', [{'functionResponse': {'name': 'adk_request_confirmation'}}]),
    ('body__content__regex', 'for(_s|S)ession'),
)
WITHDRAWS = ('body__customMetadata__has_key', 'adk_withdrawn_allowance')


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0019_index_of_causes')]

    operations = [
        BuildIndex(
            'event',
            models.Index(
                fields=['session', 'seq'],
                name='event_allowances',
                condition=models.Q(('author', 'user'), models.Q(ALLOWS_SESSION, WITHDRAWS, _connector='OR')),
            ),
        ),
    ]
