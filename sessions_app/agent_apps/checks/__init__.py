"""Django system checks of agents, of `settings.ADK`, and of the project around this app."""

from django.core.checks import Error, Warning


def check_error(code: str, message: str, hint: str | None = None) -> Error:
    return Error(message, hint=hint, id=f"sessions_app.{code}")


def check_warning(code: str, message: str, hint: str | None = None) -> Warning:
    return Warning(message, hint=hint, id=f"sessions_app.{code}")
