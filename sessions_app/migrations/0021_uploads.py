from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0020_feedback'),
    ]

    operations = [
        migrations.AddField(
            model_name='artifact',
            name='is_upload',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
