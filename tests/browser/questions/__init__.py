"""A Django app whose agent asks the person: to choose, to confirm, for credentials."""
