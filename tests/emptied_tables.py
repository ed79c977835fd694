"""Empty tables after each test that commits, in a tenth of the time of Django's `flush`.

`flush` truncates all tables, which makes new files for each table and index, and then creates all content types and
permissions anew. Few tables have rows after a test, and few rows: these are deleted, without triggers.
"""

from __future__ import annotations

from django.db import connection

DELETE_ROWS = """
DO $$
DECLARE
    item record;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR item IN
        SELECT oid::regclass AS name, pg_relation_size(oid) AS bytes FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        AND relname NOT IN ('auth_permission', 'django_content_type', 'django_migrations')
    LOOP
        IF item.bytes > 1000000 THEN
            EXECUTE 'TRUNCATE ' || item.name || ' CASCADE';
        ELSIF item.bytes > 0 THEN
            EXECUTE 'DELETE FROM ' || item.name;
        END IF;
    END LOOP;
END $$
"""


def empty_tables(test_case: object) -> None:
    """Delete what a test has committed; in place of `TransactionTestCase._fixture_teardown`."""
    with connection.cursor() as cursor:
        cursor.execute(DELETE_ROWS)
