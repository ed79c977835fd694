"""Acts of staff on a workflow: try a failed node again, skip one that waits for an answer, or end a wait now."""

from django import forms
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.confirmed_action import ReasonForm
from sessions_app.base.actors import Actor
from sessions_app.invocations.answers.outside_chat import skip_question
from sessions_app.jobs.wait import start_now
from sessions_app.models import ActionKind, Session
from sessions_app.process import threads
from sessions_app.sessions.ownership import User
from sessions_app.use_cases.messages import start_again


class NodeForm(ReasonForm):
    """Act on a node, with its reason.

    Attributes:
        call: question to skip.
        wait: call of the wait to end.
        failed: id of the failed invocation to try again.
    """

    call = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    wait = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    failed = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)

    def act(self, session: Session, user: User, by: Actor) -> tuple[ActionKind, str]:
        """Act on the node; return the kind of the act, and a sentence that it is done.

        Raises:
            AdkError: the node does not wait any more, or has not failed; the message says so.
        """
        reason = self.cleaned_data["reason"]
        if call_id := self.cleaned_data["call"]:
            threads.run(skip_question(session, call_id, by=by, reason=reason, user=user))
            return ActionKind.ANSWER, str(_("The node is skipped."))
        if call_id := self.cleaned_data["wait"]:
            start_now(session, call_id, by=by, reason=reason)
            return ActionKind.CHANGE, str(_("The wait ends now."))
        threads.run(start_again(session, self.cleaned_data["failed"], by))
        return ActionKind.RETRY, str(_("The failed nodes run again."))
