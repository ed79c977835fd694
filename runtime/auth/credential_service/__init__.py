"""Credential services: they keep the credentials given by users for later invocations."""
