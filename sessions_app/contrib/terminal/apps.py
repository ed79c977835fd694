"""Django app configuration."""

from django.apps import AppConfig


class TerminalConfig(AppConfig):
    """Adds the commands `adk_chat` and `adk_run`."""

    name = "sessions_app.contrib.terminal"
    label = "adk_terminal"
    verbose_name = "Conversations in a terminal"
