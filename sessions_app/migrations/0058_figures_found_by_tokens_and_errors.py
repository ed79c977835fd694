from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0057_guarded_webhooks'),
    ]

    operations = [
        # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS session_figures_tokens', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='sessionfigures',
            index=models.Index(fields=['-tokens'], name='session_figures_tokens'),
        ),
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS session_figures_errors', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='sessionfigures',
            index=models.Index(condition=models.Q(('errors__gt', 0)), fields=['session'], name='session_figures_errors'),
        ),
    ]
