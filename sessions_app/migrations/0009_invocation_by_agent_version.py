from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0008_agent_version')]

    operations = [
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS invocation_by_agent_version', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='invocation',
            index=models.Index(fields=['agent_version', '-id'], name='invocation_by_agent_version'),
        ),
    ]
