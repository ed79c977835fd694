"""A Django app whose jobs sleep longer than any test."""
