"""Database backend of the web processes; `base` is the module that Django looks for."""
