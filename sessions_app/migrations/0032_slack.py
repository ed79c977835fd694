import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0031_knowledge'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LinkedAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('service', models.CharField(max_length=32)),
                ('place', models.CharField(max_length=64)),
                ('account', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=200)),
                ('linked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='adk_linked_accounts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SlackThread',
            fields=[
                ('webhook', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='slack_thread', serialize=False, to='sessions_app.webhook')),
                ('team_id', models.CharField(max_length=64)),
                ('channel_id', models.CharField(max_length=64)),
                ('thread_ts', models.CharField(max_length=32)),
                ('chat_url', models.CharField(max_length=500)),
                ('last_seq', models.BigIntegerField(db_default=0, default=0)),
                ('claimed_until', models.DateTimeField(blank=True, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='slack_threads', to='sessions_app.linkedaccount')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SlackPost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=250)),
                ('ts', models.CharField(blank=True, db_default='', default='', max_length=32)),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='posts', to='sessions_app.slackthread')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='linkedaccount',
            constraint=models.UniqueConstraint(fields=('service', 'place', 'account'), name='linked_account_unique'),
        ),
        migrations.AddConstraint(
            model_name='slackthread',
            constraint=models.UniqueConstraint(fields=('team_id', 'channel_id', 'thread_ts'), name='slack_thread_unique'),
        ),
        migrations.AddConstraint(
            model_name='slackpost',
            constraint=models.UniqueConstraint(fields=('thread', 'key'), name='slack_post_unique'),
        ),
    ]
