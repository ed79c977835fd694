"""Public helpers, also for use in agents."""
