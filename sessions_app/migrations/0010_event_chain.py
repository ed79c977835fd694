from pathlib import Path

from django.db import migrations, models

CHAIN = (Path(__file__).parent / 'event_chain.sql').read_text()
DROP = 'DROP FUNCTION adk_refuse_change(); DROP FUNCTION adk_event_hash(bytea, uuid, bigint, jsonb, jsonb)'
FILL = """
DO $$
DECLARE
    e record;
    known uuid;
    previous bytea;
BEGIN
    FOR e IN SELECT id, session_id, seq, body, before FROM sessions_app_event ORDER BY session_id, seq LOOP
        IF known IS DISTINCT FROM e.session_id THEN
            known := e.session_id;
            previous := NULL;
        END IF;
        previous := adk_event_hash(previous, e.session_id, e.seq, e.body, e.before);
        UPDATE sessions_app_event SET hash = previous WHERE id = e.id;
    END LOOP;
END
$$
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
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(PROTECT, 'DROP TRIGGER event_append_only ON sessions_app_event'),
    ]
