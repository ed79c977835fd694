"""Keeping secrets: masking on pages, in exports and in logs; encryption and digests in the database."""
