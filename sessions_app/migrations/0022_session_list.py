from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0021_uploads'),
    ]

    operations = [
        migrations.AddField('session', 'archived_at', models.DateTimeField(blank=True, null=True)),
        migrations.AddField('session', 'deleted_at', models.DateTimeField(blank=True, null=True)),
        migrations.AddField('session', 'is_pinned', models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            model_name='session',
            name='title_source',
            field=models.CharField(choices=[('message', 'Message'), ('person', 'Person')], db_default='message', default='message', max_length=16),
        ),
        # The rows that exist keep null, so that no old session counts as unread; only new rows begin with 0.
        migrations.AddField('session', 'seen_seq', models.BigIntegerField(null=True)),
        migrations.AlterField('session', 'seen_seq', models.BigIntegerField(db_default=0, default=0, null=True)),
    ]
