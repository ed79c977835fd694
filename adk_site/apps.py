"""The Django app of the project: its agents, and the model that answers without an API key."""

from django.apps import AppConfig

from adk_site.celery import app as celery_app
from adk_site.demo.model import DemoModel
from runtime.models import LLMRegistry


class AdkSiteConfig(AppConfig):
    """Makes the demo model known before any `agents.py` is imported, wherever its app stands in INSTALLED_APPS."""

    name = "adk_site"
    verbose_name = "Site"

    def ready(self) -> None:
        """Make the Celery app that of shared tasks, and register the demo model."""
        celery_app.set_default()
        LLMRegistry.register(DemoModel)
