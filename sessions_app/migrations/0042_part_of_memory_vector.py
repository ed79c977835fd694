from django.db import migrations, models

from sessions_app.migrations._sql import run_file


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0041_validate_request_texts')]

    operations = [
        migrations.AddField('memoryvector', 'part', models.SmallIntegerField(db_default=0, editable=False)),
        run_file('vectors.sql'),
    ]
