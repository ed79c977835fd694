"""A Django app for the memory benchmark: its model answers without a pause."""
