from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0022_case_files')]

    operations = [
        migrations.AddField(
            'savedcredential', 'service', models.CharField(max_length=200, blank=True, default='', db_default='')
        ),
    ]
