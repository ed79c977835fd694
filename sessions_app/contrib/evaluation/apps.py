"""Django app configuration."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Configuration of the app."""

    name = "sessions_app.contrib.evaluation"
    label = "adk_evaluation"
    verbose_name = "Evaluations of agents"
