"""Erasure, export and retention of what the site stores about sessions and people: docs/data-protection.md."""
