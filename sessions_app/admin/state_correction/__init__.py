"""Correction of state by staff: the values that they see, the form, and its page."""
