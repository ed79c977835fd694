"""Figures of sessions and days, counted by a sweep: lists and the overview read sums and never scan events."""
