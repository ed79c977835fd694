"""A Django app whose agent reads the notes of the person, who signs in for that at another service."""
