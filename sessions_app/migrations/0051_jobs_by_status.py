from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0050_webhooks_of_groups'),
    ]

    operations = [
        # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS tool_job_of_status', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='tooljob',
            index=models.Index(fields=['status', '-created_at'], name='tool_job_of_status'),
        ),
    ]
