from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('sessions_app', '0011_flaws_of_logs')]

    operations = [
        migrations.AddField(
            'staffact', 'detail', models.CharField(max_length=300, blank=True, default='', db_default='')
        ),
    ]
