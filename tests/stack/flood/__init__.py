"""A Django app whose agent streams much more text than a socket buffers."""
