"""`StaffReader`: the eval sets and evaluations of an app within the rights of a member of staff."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, PermissionsMixin
from django.db.models import Q, QuerySet

from runtime.evaluation.eval_case import EvalCase
from runtime.evaluation.eval_set import EvalSet
from sessions_app.agent_apps.registry import get_app
from sessions_app.base import actors
from sessions_app.contrib.evaluation.set_files import read_sets
from sessions_app.errors import NotFoundError, PermissionDeniedError
from sessions_app.models import AccessKind, EvaluatedCase, Evaluation, Remit, StaffAccess
from sessions_app.models.remit import covered_rows
from sessions_app.secrets.masking import mask

VIEW, VIEW_TEXT = "sessions_app.view_evaluation", "sessions_app.view_text"
RUN = "sessions_app.run_evaluation"
OF_CASE = ("session__app_name", "session__user")


class StaffReader:
    """Eval sets and evaluations of an app, within the remits of a member of staff.

    A set is a file in the directory of the app's agents. Without such a file, it has the cases of the newest evaluation
    with the id of the set.

    Raises:
        PermissionDeniedError: the user is not staff, or lacks `view_evaluation` or one of the other `rights`.
        NotFoundError: the site has no such app, or no remit of the user covers it.
    """

    def __init__(self, user: AbstractBaseUser, app_name: str, *rights: str) -> None:
        needed = (VIEW, *rights)
        is_staff = getattr(user, "is_staff", False)
        if not (is_staff and isinstance(user, PermissionsMixin) and user.has_perms(needed)):
            raise PermissionDeniedError(f"This is for staff with the permissions {' and '.join(needed)}.")
        self.app_name = get_app(app_name).name
        self._user = user
        self.remits = list(Remit.objects.of(user))
        if self.remits and not any(remit.app_name in ("", app_name) for remit in self.remits):
            raise NotFoundError(f"There is no app {app_name!r}.")

    def evaluations(self) -> QuerySet[Evaluation]:
        """Return the evaluations of the app, newest first."""
        return Evaluation.objects.filter(app_name=self.app_name).order_by("-created_at", "-id")

    def set_ids(self) -> list[str]:
        """Return the ids of the sets in order."""
        stored = self.evaluations().order_by().values_list("set_id", flat=True).distinct()
        return sorted({*read_sets(self.app_name), *stored})

    def case_ids(self, set_id: str) -> list[str]:
        """Return the ids of the cases of a set in order.

        Raises:
            NotFoundError: there is no such set.
        """
        if found := self._set_in_file(set_id):
            return sorted(case.eval_id for case in found.eval_cases)
        return sorted(cases_within(self._last(set_id), self.remits).values_list("eval_id", flat=True))

    def case(self, set_id: str, eval_id: str, address: str) -> dict[str, Any]:
        """Return a case in ADK's JSON, with secrets masked. Records the access to a stored case.

        Args:
            address: the reader's network address, for the record.

        Raises:
            PermissionDeniedError: the user lacks `view_text`.
            NotFoundError: there is no such set or case.
        """
        if not self._user.has_perm(VIEW_TEXT):
            raise PermissionDeniedError(f"Only staff with the permission {VIEW_TEXT} read cases.")
        if found := self._set_in_file(set_id):
            case = next((case for case in found.eval_cases if case.eval_id == eval_id), None)
        else:
            case = self._stored_case(set_id, eval_id, address)
        if case is None:
            raise NotFoundError(f"The eval set {set_id!r} has no case {eval_id!r}.")
        masked: dict[str, Any] = mask(case.model_dump(mode="json", by_alias=True, exclude_none=True))
        return masked

    def eval_set(self, set_id: str) -> EvalSet:
        """Return a set to run, with the cases within the remits of the user.

        Raises:
            NotFoundError: there is no such set.
        """
        if found := self._set_in_file(set_id):
            return found
        stored = cases_within(self._last(set_id), self.remits).order_by("position")
        cases = [EvalCase.model_validate(case) for case in stored.values_list("case", flat=True)]
        return EvalSet(eval_set_id=set_id, eval_cases=cases)

    def _set_in_file(self, set_id: str) -> EvalSet | None:
        _, found = read_sets(self.app_name).get(set_id, (None, None))
        return found

    def _stored_case(self, set_id: str, eval_id: str, address: str) -> EvalCase | None:
        evaluation = self._last(set_id)
        row = cases_within(evaluation, self.remits).filter(eval_id=eval_id).first()
        if row is None:
            return None
        # Before the case is returned: nothing is read without a record. A case in a file quotes no conversation of
        # the site.
        StaffAccess.objects.create(
            **actors.staff(self._user, address).columns(),
            kind=AccessKind.OPEN,
            subject_kind="evaluation",
            subject_id=str(evaluation.pk),
        )
        return EvalCase.model_validate(row.case)

    def _last(self, set_id: str) -> Evaluation:
        found = self.evaluations().filter(set_id=set_id).first()
        if found is None:
            raise NotFoundError(f"There is no eval set {set_id!r} for the app {self.app_name!r}.")
        return found


def cases_within(evaluation: Evaluation, remits: list[Remit]) -> QuerySet[EvaluatedCase]:
    """Return the cases whose conversations are within the remits, and the cases without a conversation."""
    cases = evaluation.cases.all()
    own = covered_rows(cases, remits, [OF_CASE])
    return cases.filter(Q(session=None) | Q(pk__in=own.values("pk")))
