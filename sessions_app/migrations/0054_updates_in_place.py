from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Now

# Other indexes begin with their columns, or nothing looks for these.
UNUSED = (
    'sessions_app_event_session_id_c115b7c5',
    'sessions_app_invocation_session_id_603fb532',
    'sessions_app_invocation_invocation_id_1e4ab706_like',
    'sessions_app_invocation_cancelled_by_id_01aa2adb',
)
RENAME = 'ALTER TABLE sessions_app_invocation RENAME CONSTRAINT {} TO {}'
NAMES = ('sessions_app_invocation_invocation_id_key', 'invocation_unique_id')


BATCH_SIZE = 5000


def fill(apps, schema_editor):
    """Set `last_event_at` in batches: a lock on all rows at once would stop the conversations."""
    sessions = apps.get_model('sessions_app', 'Session').objects.order_by('pk')
    rest = sessions
    while pks := list(rest.values_list('pk', flat=True)[:BATCH_SIZE]):
        sessions.filter(pk__range=(pks[0], pks[-1])).update(last_event_at=F('updated_at'))
        rest = sessions.filter(pk__gt=pks[-1])


def of_session(name):
    return models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name=name, to='sessions_app.session')


class Migration(migrations.Migration):
    """Let an append change its session's row in place: no index has a column that it changes."""

    atomic = False  # indexes are built and dropped concurrently, which locks out no writer

    dependencies = [
        ('sessions_app', '0053_names_of_erasing_staff'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='session',
            name='last_event_at',
            field=models.DateTimeField(db_default=Now()),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(
            'ALTER TABLE sessions_app_session SET (fillfactor = 80)',
            'ALTER TABLE sessions_app_session RESET (fillfactor)',
        ),
        AddIndexConcurrently(
            model_name='session',
            index=models.Index(condition=~models.Q(lease_owner=''), fields=['id'], name='session_held'),
        ),
        RemoveIndexConcurrently(model_name='session', name='session_leased'),
        AddIndexConcurrently(
            model_name='invocation',
            index=models.Index(
                condition=models.Q(cancelled_by__isnull=False),
                fields=['cancelled_by'],
                name='invocation_by_canceller',
            ),
        ),
        # Django would check each row against the foreign key again, and lock the tables meanwhile.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                *(migrations.RunSQL(f'DROP INDEX CONCURRENTLY IF EXISTS {name}') for name in UNUSED),
                migrations.RunSQL(RENAME.format(*NAMES), RENAME.format(*reversed(NAMES))),
            ],
            state_operations=[
                migrations.AlterField(model_name='event', name='session', field=of_session('events')),
                migrations.AlterField(model_name='invocation', name='session', field=of_session('invocations')),
                migrations.AlterField(
                    model_name='invocation',
                    name='cancelled_by',
                    field=models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name='+',
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                migrations.AlterField(
                    model_name='invocation', name='invocation_id', field=models.CharField(max_length=64)
                ),
                migrations.AddConstraint(
                    model_name='invocation',
                    constraint=models.UniqueConstraint(fields=['invocation_id'], name='invocation_unique_id'),
                ),
            ],
        ),
    ]
