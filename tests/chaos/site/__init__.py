"""A Django app whose agent does what it is told, and the tools that it does it with."""
