"""`manage.py adk_eval`: evaluate an app against an eval set or labelled conversations, in Celery jobs."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.urls import NoReverseMatch, reverse

from runtime.evaluation.eval_config import EvalConfig
from runtime.evaluation.eval_set import EvalSet
from runtime.evaluation.json_files import config_beside, load_eval_config, load_eval_set
from sessions_app.agent_apps.registry import get_app
from sessions_app.contrib.evaluation.comparison import LARGE_COLUMNS, CaseReport, reports_of
from sessions_app.contrib.evaluation.end import cancel_evaluation, wait_for_end
from sessions_app.contrib.evaluation.sources import config_of, marked_set, set_path
from sessions_app.contrib.evaluation.start import start_evaluation
from sessions_app.contrib.evaluation.table import as_json, counted, summary_of, table_of
from sessions_app.management.site_command import SiteCommand
from sessions_app.models import CaseStatus, Evaluation

LOOK_SECONDS = 5.0
NO_WORKER = (
    "No worker has taken a case yet. Start a jobs process: `make run` does, and so does `deploy/run jobs`."
)


class Command(SiteCommand):
    """Evaluates an app; the exit code is 1 when a case does not pass."""

    help = "Evaluate an app against an eval set in google-adk's format, in parallel jobs; compare with the last run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("app", help="the app")
        parser.add_argument("set", nargs="?", help="path of an *.evalset.json, or its name beside the agents")
        parser.add_argument("--marked", metavar="LABEL", help="the conversations with this label, as the set")
        words = "criteria; without it the test_config.json beside the set, if there is one"
        parser.add_argument("--config", type=Path, help=words)
        words = "do not wait for the end; without it, Ctrl-C cancels"
        parser.add_argument("--detach", action="store_true", help=words)
        parser.add_argument("--json", action="store_true", help="write one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Begin the evaluation; wait for its end, and write the outcome."""
        name = get_app(options["app"]).name
        eval_set, config = _read(name, options)
        evaluation = start_evaluation(name, eval_set, config)
        if erased := len(eval_set.eval_cases) - evaluation.case_count:
            self.stderr.write(f"Cases left out because their conversations were erased: {erased}.")
        if options["detach"]:
            self._tell_begin(evaluation, as_json_object=options["json"])
            return
        try:
            evaluation = self._wait(evaluation)
        except KeyboardInterrupt as error:
            cancel_evaluation(evaluation.pk)
            raise CommandError(f"The evaluation was cancelled: {_page_of(evaluation)}") from error
        cases = evaluation.cases.defer(*LARGE_COLUMNS).order_by("position")
        self._write(evaluation, reports_of(evaluation, cases), as_json_object=options["json"])
        missed = sum(evaluation.counts.values()) - evaluation.passed
        if missed or not evaluation.passed:
            raise CommandError(f"{missed} of {counted(evaluation)} did not pass.")

    def _tell_begin(self, evaluation: Evaluation, *, as_json_object: bool) -> None:
        page = _page_of(evaluation)
        if as_json_object:
            self.stdout.write(json.dumps({"evaluation": str(evaluation.pk), "page": page}))
        else:
            self.stdout.write(f"Evaluation of {counted(evaluation)}: {page}")

    def _wait(self, evaluation: Evaluation) -> Evaluation:
        """Wait for the end; say once when no worker takes a case."""
        latest = evaluation
        for look, latest in enumerate(wait_for_end(evaluation.pk, LOOK_SECONDS)):
            # The third look comes after two waits, in which a worker would have taken a case.
            if look == 2 and not latest.cases.exclude(status=CaseStatus.QUEUED).exists():
                self.stderr.write(NO_WORKER)
        return latest

    def _write(self, evaluation: Evaluation, reports: list[CaseReport], *, as_json_object: bool) -> None:
        if as_json_object:
            self.stdout.write(json.dumps(as_json(evaluation, reports, _page_of(evaluation))))
            return
        for line in table_of(reports):
            self.stdout.write(line)
        self.stdout.write(f"{summary_of(evaluation, reports)} {_page_of(evaluation)}")


def _read(app_name: str, options: dict[str, Any]) -> tuple[EvalSet, EvalConfig]:
    """Return the set and the criteria that the options name.

    Raises:
        CommandError: the options name no set, or two.
        EvaluationError: a file or a label is wrong.
    """
    if (options["set"] is None) == (options["marked"] is None):
        raise CommandError("Name an eval set, or conversations by --marked LABEL, and not both.")
    config = load_eval_config(options["config"]) if options["config"] else None
    if options["set"] is None:
        return marked_set(app_name, options["marked"]), config or config_of(app_name)
    path = set_path(app_name, options["set"])
    return load_eval_set(path), config or config_beside(path.parent)


def _page_of(evaluation: Evaluation) -> str:
    try:
        return reverse("admin:sessions_app_evaluation_change", args=[evaluation.pk])
    except NoReverseMatch:  # a project without the admin
        return f"evaluation {evaluation.pk}"
