"""Form in which staff answer a request: yes or no, an option, or a text, always with a reason."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runtime.events.calls import TEXT_QUESTIONS
from sessions_app.admin.framework.confirmed_action import ReasonForm
from sessions_app.jobs.questions import JobAnswer
from sessions_app.models import AnswerRequest, RequestKind
from sessions_app.rendering.outline import one_line

YES_OR_NO = (("yes", gettext_lazy("Approve")), ("no", gettext_lazy("Reject")))


class AnswerForm(ReasonForm):
    """Answer to a request.

    Attributes:
        buttons: values and labels of the buttons, when the answer is yes or no; otherwise empty.
    """

    buttons: Sequence[tuple[str, Any]] = ()

    def __init__(
        self, request: AnswerRequest, call: Mapping[str, Any], data: Mapping[str, Any] | None
    ) -> None:
        """Make the form of a request.

        Args:
            call: arguments of the call.
            data: the posted values; None for an empty form.
        """
        super().__init__(data)
        question = (request.job and request.job.question) or {}
        options = [(str(option), str(option)) for option in question.get("options", ())]
        if request.kind == RequestKind.CHOICE:
            offered = call.get("options")
            rows = enumerate(offered if isinstance(offered, list) else [])
            # The number is the value: options come from the model and may be long, equal or empty.
            options = [(str(number), one_line(option)) for number, option in rows]
        if options or request.kind == RequestKind.CHOICE:
            self.fields["answer"] = forms.ChoiceField(
                choices=options, widget=forms.RadioSelect, label=_("Answer")
            )
        elif question.get("kind") == "text" or request.tool_name in TEXT_QUESTIONS:
            self.fields["answer"] = forms.CharField(
                label=_("Answer"), widget=forms.Textarea(attrs={"rows": 3})
            )
        else:
            self.buttons = YES_OR_NO
            self.fields["answer"] = forms.ChoiceField(choices=YES_OR_NO, widget=forms.HiddenInput)
        self.order_fields(["answer", "reason"])
        self.fields["reason"].help_text = _(
            "Recorded for staff. The person and the model read the answer only."
        )
        if request.gets_status:
            self.fields["reason"].help_text = _("Recorded, and shown to the person and the model.")

    @property
    def answer(self) -> JobAnswer:
        """The answer, of a valid form: True or False for yes or no, otherwise an option or a text."""
        answer: str = self.cleaned_data["answer"]
        return answer == "yes" if self.buttons else answer
