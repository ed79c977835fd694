"""Helpers that agents may use, too."""
