"""Overview: today at a glance, and the last 30 days."""
