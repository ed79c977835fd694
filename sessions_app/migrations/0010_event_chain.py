from pathlib import Path

from django.db import migrations, models

CHAIN = (Path(__file__).parent / 'event_chain.sql').read_text()
DROP = (
    'DROP FUNCTION adk_refuse_change(); DROP AGGREGATE adk_chain_of_log(uuid, bigint, jsonb);'
    'DROP FUNCTION adk_event_hash(bytea, jsonb); DROP FUNCTION adk_chain(bytea, uuid, bigint, jsonb)'
)
FILL = """
UPDATE sessions_app_event e SET hash = adk_event_hash(c.chain, e.before) FROM (
    SELECT id, adk_chain_of_log(session_id, seq, body) OVER (PARTITION BY session_id ORDER BY seq) AS chain
    FROM sessions_app_event
) c WHERE c.id = e.id;
UPDATE sessions_app_session s SET log_hash = c.chain FROM (
    SELECT session_id, adk_chain_of_log(session_id, seq, body ORDER BY seq) AS chain
    FROM sessions_app_event GROUP BY session_id
) c WHERE c.session_id = s.id;
"""
PROTECT = """
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON sessions_app_event
    FOR EACH ROW EXECUTE FUNCTION adk_refuse_change()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0009_shared_state_rows'),
    ]

    operations = [
        migrations.RunSQL(CHAIN, DROP),
        migrations.AddField(model_name='event', name='hash', field=models.BinaryField(null=True)),
        migrations.AddField(
            model_name='session', name='log_hash', field=models.BinaryField(default=b'', db_default=b'')
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(PROTECT, 'DROP TRIGGER event_append_only ON sessions_app_event'),
    ]
