"""Sources of an evaluation: eval sets and criteria in files, and conversations with a label."""

from __future__ import annotations

from pathlib import Path

from runtime.errors import EvaluationError
from runtime.evaluation.eval_config import DEFAULT_CONFIG, EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import MAX_CASES, config_beside
from runtime.valid_text import storable
from sessions_app.agent_apps.loading.sources import folder_directories, package_directories
from sessions_app.agent_apps.registry import registry
from sessions_app.contrib.evaluation.eval_set import eval_set_of
from sessions_app.models import Annotation, Session
from sessions_app.process import threads

SUFFIX = ".evalset.json"


def set_path(app_name: str, name: str) -> Path:
    """Return the path of an eval set from a path, or from the name of a set in the directory of the app's agents.

    If there is no such set, return the name as a path.
    """
    path = Path(name)
    folder = directory_of(app_name)
    if path.exists() or folder is None:
        return path
    own = folder / (name if name.endswith(".json") else f"{name}{SUFFIX}")
    return own if own.exists() else path


def config_of(app_name: str) -> EvalConfig:
    """Return the criteria in the directory of the app's agents, or the default criteria. Raise as `config_beside`."""
    folder = directory_of(app_name)
    return config_beside(folder) if folder else DEFAULT_CONFIG


def marked_set(app_name: str, label: str) -> EvalSet:
    """Return the eval set of an app's conversations with a label of staff.

    Raises:
        EvaluationError: no conversation has the label; the message lists the labels.
    """
    sessions = Session.objects.filter(app_name=app_name, deleted_at=None)
    annotations = Annotation.objects.filter(label=storable(label))
    marked = sessions.filter(pk__in=annotations.values("session"))
    # One more than the limit, so the check of the set can refuse a set that is too large.
    ids = list(marked.order_by("pk").values_list("pk", flat=True)[: MAX_CASES + 1]) if label else []
    if not ids:
        labels = Annotation.objects.filter(session__in=sessions).exclude(label="")
        known = ", ".join(map(repr, labels.values_list("label", flat=True).distinct().order_by("label")))
        raise EvaluationError(
            f"No conversation with {app_name!r} has the label {label!r}. The labels: {known or 'none'}."
        )
    return threads.run(eval_set_of(label, ids))


def directory_of(app_name: str) -> Path | None:
    """Return the directory of an app's agents; None for an app without a known directory."""
    directories = {**package_directories(), **folder_directories()}
    names = (name for name, app in registry().modules.items() if app.name == app_name)
    return next((directories[name] for name in names if name in directories), None)
