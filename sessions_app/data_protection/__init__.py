"""Erasure, export and retention of what the site stores about sessions and users: docs/data-protection.md."""
