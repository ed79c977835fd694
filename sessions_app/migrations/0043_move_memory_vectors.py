from django.db import migrations

VECTORS_AT_ONCE = 2000
DROP_INDEXES = '''
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid
        WHERE indrelid = 'sessions_app_memoryvector'::regclass AND relname LIKE 'memory\\_meaning\\_%'
    LOOP
        EXECUTE format('DROP INDEX %I', name);
    END LOOP;
END $$;
'''
SET_PARTS = '''
WITH vectors AS (
    SELECT id, entry_id FROM sessions_app_memoryvector WHERE id > %s ORDER BY id LIMIT %s FOR UPDATE
), changed AS (
    UPDATE sessions_app_memoryvector v SET part = adk_part_of(user_id::text)
    FROM vectors JOIN sessions_app_memoryentry e ON e.id = entry_id
    WHERE v.id = vectors.id AND part <> adk_part_of(user_id::text)
)
SELECT max(id) FROM vectors
'''


def set_parts(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        last = 0
        while last is not None:
            cursor.execute(SET_PARTS, [last, VECTORS_AT_ONCE])
            (last,) = cursor.fetchone()


class Migration(migrations.Migration):

    # Each batch of vectors is a transaction. After an interruption the migration goes through them again.
    atomic = False

    dependencies = [('sessions_app', '0042_part_of_memory_vector')]

    operations = [
        # Each moved vector would be put into them anew. Until `migrate` has made the indexes of the parts, at its end,
        # a search compares all entries of a person one by one, as always for a person with few.
        migrations.RunSQL(DROP_INDEXES, migrations.RunSQL.noop),
        migrations.RunPython(set_parts, migrations.RunPython.noop),
    ]
