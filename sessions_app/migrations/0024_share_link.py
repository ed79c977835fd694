import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import sessions_app.models.share_link


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0023_session_list_indexes'),
    ]

    operations = [
        migrations.AlterField(
            model_name='staffact',
            name='action',
            field=models.CharField(choices=[('add', 'Add'), ('change', 'Change'), ('delete', 'Delete'), ('stop', 'Stop'), ('lift', 'Lift'), ('revoke', 'Revoke')], max_length=16),
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=sessions_app.models.share_link.new_token, editable=False, max_length=22, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='share_links', to='sessions_app.session')),
            ],
            options={
                'permissions': [('revoke_sharelink', 'Can revoke share link')],
                'default_permissions': ('view',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('session',), name='share_link_one_active')],
            },
        ),
    ]
