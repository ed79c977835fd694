"""Resources of a process: its database pool, threads and event loops, its tasks to the broker, its metrics."""
