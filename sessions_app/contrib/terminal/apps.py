"""Django app configuration."""

from django.apps import AppConfig


class TerminalConfig(AppConfig):
    """Configuration of the app."""

    name = "sessions_app.contrib.terminal"
    label = "adk_terminal"
    verbose_name = "Conversations in a terminal"
