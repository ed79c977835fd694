"""A Django app whose agent says much more than a socket holds."""
