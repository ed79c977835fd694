"""Real processes, killed at random moments; afterwards the database is asked whether anything was lost or doubled."""
