"""The Django app of the project: the demo agents and the model that answers without an API key."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_login_failed

import adk_site.celery  # noqa: F401  # every process of the site sends its tasks by this Celery app
from adk_site.demo.model import DemoModel
from adk_site.reloading import reload_in_workers
from runtime.models import LLMRegistry


class AdkSiteConfig(AppConfig):
    """Configuration that registers the demo model before any `agents.py` is imported."""

    name = "adk_site"
    verbose_name = "Site"

    def ready(self) -> None:
        LLMRegistry.register(DemoModel)
        reload_in_workers()
        # After the receiver of django-axes, an earlier app, which decides whether the sign-in is locked. Imported here,
        # because the module needs loaded apps.
        from adk_site.sign_in import log_failed_sign_in

        user_login_failed.connect(log_failed_sign_in)
