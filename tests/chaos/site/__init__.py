"""A Django app whose agent follows the first word of each message, and its tools."""
