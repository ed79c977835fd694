"""A Django app whose agent is served by A2A."""
