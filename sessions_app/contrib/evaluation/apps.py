"""Django app configuration. Modules are imported on use: models cannot be imported yet."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sessions_app.extensions import Extension

if TYPE_CHECKING:
    from ninja import Router

    from sessions_app.process.sweeping import Repair


class EvaluationConfig(Extension):
    """Evaluates agents against eval sets, in Celery jobs."""

    default = True
    name = "sessions_app.contrib.evaluation"
    label = "adk_evaluation"
    verbose_name = "Evaluations of agents"

    def adk_routers(self) -> Sequence["Router"]:
        # Reads and writes of an address are operations of one router.
        from sessions_app.contrib.evaluation.adk_writes import router

        return [router]

    def repairs(self) -> Sequence["Repair"]:
        from sessions_app.contrib.evaluation.repairs import evaluation_repairs

        return evaluation_repairs()

    def housekeeping(self) -> Sequence[Callable[[], object]]:
        from sessions_app.contrib.evaluation.repairs import delete_old_evaluations

        return [delete_old_evaluations]
