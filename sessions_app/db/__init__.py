"""SQL statements of the hot path, one round trip each, on psycopg's async pool.

Everything else uses the ORM, through `threads` where asyncio code calls it.
"""
