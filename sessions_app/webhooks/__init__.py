"""Webhooks: addresses that are told what happens in a person's sessions (docs/webhooks.md)."""
