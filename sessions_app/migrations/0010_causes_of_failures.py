from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('sessions_app', '0009_invocation_by_agent_version')]

    operations = [
        # A longer varchar changes the catalogue of PostgreSQL only, not the rows.
        migrations.AlterField('failure', 'cause', models.CharField(max_length=300)),
        migrations.AlterField(
            'dayfigure',
            'metric',
            models.CharField(
                max_length=16,
                choices=[
                    ('people', 'People'),
                    ('invocations', 'Invocations'),
                    ('first_word', 'First Word'),
                    ('calls', 'Calls'),
                    ('failures', 'Failures'),
                    ('rejections', 'Rejections'),
                    ('tokens', 'Tokens'),
                    ('cost', 'Cost'),
                ],
            ),
        ),
    ]
