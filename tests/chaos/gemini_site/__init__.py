"""A Django app whose agent asks an obedient model through the Gemini client and HTTP."""
