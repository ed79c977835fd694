import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0029_recorded_ends')]

    operations = [
        migrations.CreateModel(
            name='WaitingMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.CharField(max_length=150)),
                ('subject', models.TextField()),
                ('text', models.TextField()),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
            ],
            options={'default_permissions': ()},
        ),
    ]
