from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # the index is built concurrently, which locks out no writer

    dependencies = [('sessions_app', '0054_updates_in_place')]

    operations = [
        migrations.AddField(
            model_name='tooljob',
            name='lost_attempts',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        AddIndexConcurrently(
            model_name='tooljob',
            index=models.Index(
                fields=['-created_at', '-id'],
                condition=models.Q(lost_attempts__gt=0),
                name='tool_job_lost',
            ),
        ),
    ]
