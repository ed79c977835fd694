"""A Django app whose agent the test of lost answers talks to."""
