"""A Django app with an agent whose model answers at once: what the memory benchmark talks to."""
