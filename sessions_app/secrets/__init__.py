"""Keeping secrets: masking in what is shown or logged, encryption of what is stored."""
