"""Django app configuration."""

from django.apps import AppConfig


class A2AConfig(AppConfig):
    """Configuration of the optional app for the Agent2Agent protocol."""

    name = "sessions_app.contrib.a2a"
    label = "adk_a2a"
    verbose_name = "Agent-to-Agent protocol"
