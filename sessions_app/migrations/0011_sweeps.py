from datetime import UTC, datetime

from django.db import migrations, models

# A volatile function takes a snapshot of its own: called under the lock of the session's row, it sees every
# invocation that was queued before, also when the statement around it began earlier.
HAS_QUEUED = """
CREATE FUNCTION adk_has_queued(session uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM sessions_app_invocation WHERE session_id = session AND status = 'queued');
END $$
"""
END = datetime(9000, 1, 1, tzinfo=UTC)
LATEST = "timestamptz '8999-12-31 00:00:00+00'"
CLAMP = f"""
UPDATE sessions_app_scheduledtask
SET start_at = least(start_at, {LATEST}), next_at = CASE WHEN next_at IS NOT NULL THEN least(next_at, {LATEST}) END,
    ends_at = CASE WHEN ends_at IS NOT NULL THEN least(ends_at, {LATEST}) END
WHERE greatest(start_at, next_at, ends_at) > {LATEST};
UPDATE sessions_app_tooljob SET run_at = {LATEST} WHERE run_at > {LATEST};
"""


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0010_event_chain'),
    ]

    operations = [
        migrations.RunSQL(HAS_QUEUED, 'DROP FUNCTION adk_has_queued(uuid)'),
        migrations.AddField(
            model_name='scheduledtask', name='error', field=models.TextField(blank=True, db_default='', default='')
        ),
        migrations.AddField(
            model_name='tooljob', name='sends', field=models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.RunSQL(CLAMP, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='scheduledtask',
            constraint=models.CheckConstraint(
                condition=models.Q(('ends_at__lt', END), ('next_at__lt', END), ('start_at__lt', END)),
                name='scheduled_task_readable_times',
            ),
        ),
        migrations.AddConstraint(
            model_name='tooljob',
            constraint=models.CheckConstraint(
                condition=models.Q(('run_at__lt', END)), name='tool_job_readable_start'
            ),
        ),
    ]
