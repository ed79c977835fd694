"""A Django app whose agent is a workflow, and the effects of its nodes."""
