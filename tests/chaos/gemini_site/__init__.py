"""A Django app whose agent does what it is told by way of the Gemini client and HTTP."""
