"""Webhooks: addresses to which events of a user's sessions are posted (docs/webhooks.md)."""
