"""A Django app whose agent does what it is told: what the chaos suite talks to."""
