"""The apps of the site: registry, loading, reload, and system checks."""
