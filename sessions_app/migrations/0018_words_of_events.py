import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

from sessions_app.migrations._sql import run_file


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0017_act_requests')]

    operations = [
        run_file('words.sql'),
        migrations.CreateModel(
            name='EventWords',
            fields=[
                ('event', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='sessions_app.event')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
                ('details', models.TextField()),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='event_words', to='sessions_app.session')),
            ],
            options={
                'default_permissions': (),
                'indexes': [django.contrib.postgres.indexes.GinIndex(fields=['words'], name='words_of_event')],
            },
        ),
        migrations.AddField('sessionfigures', 'words_seq', models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField('figuresprogress', 'words_newest', models.DateTimeField(null=True)),
    ]
