"""A Django app with an agent whose model gives a word every 20 ms: what the streaming benchmark talks to."""
