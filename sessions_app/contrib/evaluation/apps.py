"""Django app configuration."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    """Configuration of the optional app for evaluations."""

    name = "sessions_app.contrib.evaluation"
    label = "adk_evaluation"
    verbose_name = "Evaluations of agents"
