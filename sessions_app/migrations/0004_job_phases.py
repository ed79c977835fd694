from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0003_stage_deliveries')]

    operations = [
        migrations.AddField(
            model_name='tooljob',
            name='most_attempts',
            field=models.PositiveIntegerField(default=0, db_default=0),
        ),
        migrations.AddField(
            model_name='tooljob',
            name='phases',
            field=models.JSONField(
                default=list, blank=True, db_default=models.Value([], models.JSONField())
            ),
        ),
    ]
