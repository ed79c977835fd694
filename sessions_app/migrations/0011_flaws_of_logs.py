from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0010_causes_of_failures')]

    operations = [
        # A build that was interrupted leaves a column that is there.
        migrations.RunSQL(
            'ALTER TABLE sessions_app_sessionfigures ADD COLUMN IF NOT EXISTS flaw_seq bigint NULL',
            'ALTER TABLE sessions_app_sessionfigures DROP COLUMN IF EXISTS flaw_seq',
            state_operations=[
                migrations.AddField('sessionfigures', 'flaw_seq', models.BigIntegerField(null=True)),
            ],
        ),
        BuildIndex(
            model_name='sessionfigures',
            index=models.Index(
                condition=models.Q(('flaw_seq__isnull', False)), fields=['session'], name='session_figures_flaws'
            ),
        ),
        BuildIndex(
            model_name='staffaccess',
            index=models.Index(fields=['actor_id', '-id'], name='staff_access_of_actor'),
        ),
    ]
