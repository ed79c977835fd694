"""A Django app for the streaming benchmark: its model streams a word every 20 ms."""
