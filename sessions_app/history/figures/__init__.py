"""Figures of sessions and days, counted by a sweep. Lists and the overview read sums and never scan events."""
