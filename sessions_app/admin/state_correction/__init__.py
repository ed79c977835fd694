"""Correction of state by staff: the stored values, the form, and its page."""
