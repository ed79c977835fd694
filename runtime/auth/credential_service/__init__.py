"""Credential services: they keep what people gave, for later invocations."""
