"""Storage of the static files in production."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no type hints
    """Gives each file a name with its hash, in the imports of JavaScript modules too.

    A browser keeps a file for a year, and loads a changed module under its new name. Source:
    https://docs.djangoproject.com/en/5.2/ref/contrib/staticfiles/#manifeststaticfilesstorage
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 20
    """Each pass changes the names of modules that import those of the pass before."""
