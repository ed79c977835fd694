"""The Django app of the project: the demo agents and the model that answers without an API key."""

from django.apps import AppConfig

from adk_site.demo.model import DemoModel
from runtime.models import LLMRegistry


class AdkSiteConfig(AppConfig):
    """Registers the demo model before any `agents.py` is imported, independent of the order of INSTALLED_APPS."""

    name = "adk_site"
    verbose_name = "Site"

    def ready(self) -> None:
        LLMRegistry.register(DemoModel)
