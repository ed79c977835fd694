from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # an index that is built concurrently locks out no writer, and cannot be part of a transaction

    dependencies = [
        ('sessions_app', '0014_error_detail'),
    ]

    operations = [
        # An interrupted build leaves an invalid index behind: without it the migration can be repeated.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS invocation_with_credentials', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='invocation',
            index=models.Index(
                condition=models.Q(('credentials', ''), _negated=True),
                fields=['created_at'],
                name='invocation_with_credentials',
            ),
        ),
    ]
