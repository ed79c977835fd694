"""Django app configuration."""

from django.apps import AppConfig


class TerminalConfig(AppConfig):
    """Configuration of the optional app for conversations in a terminal."""

    name = "sessions_app.contrib.terminal"
    label = "adk_terminal"
    verbose_name = "Conversations in a terminal"
