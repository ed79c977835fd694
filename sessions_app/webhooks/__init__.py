"""Webhooks: addresses to which the site posts events of a user's sessions (docs/webhooks.md)."""
