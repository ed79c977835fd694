"""Wrappers of the ASGI applications, middleware against NUL, and what Daphne lacks: backpressure, shutdown."""
