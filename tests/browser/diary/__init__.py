"""A Django app whose agent remembers what people tell it."""
