from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0007_privacy_officer')]

    operations = [
        migrations.AddField(
            model_name='invocation',
            name='agent_version',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
    ]
