from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0008_agent_version')]

    operations = [
        BuildIndex(
            model_name='invocation',
            index=models.Index(fields=['agent_version', '-id'], name='invocation_by_agent_version'),
        ),
    ]
