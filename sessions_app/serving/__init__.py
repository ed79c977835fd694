"""Wrappers of the websockets for every ASGI server, and those that Daphne needs."""
