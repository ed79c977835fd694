"""SQL statements of the hot path, one round trip each, on psycopg's async pool.

All other code uses the ORM; asyncio code calls the ORM through `process/threads`.
"""
