"""Keeping secrets: masking on pages, in exports and in logs, and encryption in the database."""
