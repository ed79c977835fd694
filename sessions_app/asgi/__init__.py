"""Wrappers of the ASGI applications, middleware, and what Daphne lacks of ASGI."""
