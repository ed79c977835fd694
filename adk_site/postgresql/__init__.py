"""Database backend of the web processes; Django looks for a module called `base`."""
