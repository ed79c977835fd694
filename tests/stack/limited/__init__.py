"""A Django app whose jobs would go on for ever."""
