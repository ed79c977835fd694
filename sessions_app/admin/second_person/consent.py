"""Consent of a second person to an act of staff.

Without `second_person_for`, staff give a reason, and the act is done. With it, the page of the act has three stages:

    ask     the user gives a reason, which stores a request; also after a request that was refused, done or has ended
    wait    nothing can be done; another answers in the list of requests
    act     another has agreed: the act is done once, by the same user, for the reason of the request

Each stage checks rights, remits and legal holds again, as the page does without a second person.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.columns import exact_time
from sessions_app.admin.framework.confirmed_action import ReasonForm, Wording, Words
from sessions_app.admin.framework.links import row_url
from sessions_app.admin.framework.permissions import Right
from sessions_app.admin.framework.staff_records import RecordedActsMixin, own_records, staff_of
from sessions_app.conf import conf
from sessions_app.models import ActionKind, ActRequest, GuardedAct, RequestStage, StepKind
from sessions_app.models.act_request import add_step

RIGHTS = {GuardedAct.UNMASK: Right.UNMASK, GuardedAct.ERASE: Right.ERASE}
"""Right to do each act, and to agree to it."""
ASK = _("Ask a second person")
WAITS = _("A second person must agree. You asked on {time}, for this reason: {reason}")
AGREED = _("{name} agreed on {time}: {answer}<br>Your request: {reason}")
REFUSED = _("{name} refused your last request on {time}: {answer}")
NEEDED = _("A second person must agree before you can do this.")


class AgreedForm(forms.Form):
    """Key of the request to which another has agreed.

    A form that was made before the agreement has no key: it asks, and must not do the act.
    """

    agreed = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest, key: int) -> None:
        super().__init__(request.POST if "agreed" in request.POST else None, initial={"agreed": key})
        self.key = key

    def clean_agreed(self) -> int:
        """Refuse the key of another request.

        Raises:
            forms.ValidationError: the key is not that of the request.
        """
        if self.cleaned_data["agreed"] != self.key:
            raise forms.ValidationError(_("This is not what was agreed to."))
        return self.key


@dataclass(frozen=True)
class Consent:
    """The choices that the page of an act offers.

    Attributes:
        form: form to ask or to act; empty while the request waits.
        note: sentence about the request; empty if the act needs no second person.
        asks: True if a valid form stores a request, and False if it does the act.
        request: the request that waits or was agreed to.
    """

    act: GuardedAct
    subject: Model
    form: forms.Form
    note: SafeString = field(default_factory=SafeString)
    asks: bool = False
    request: ActRequest | None = None

    @property
    def waits(self) -> bool:
        """True if the page has nothing to confirm."""
        return not self.form.fields

    @property
    def reason(self) -> str:
        """Reason of a valid form, or of the request that was agreed to."""
        if self.request:
            return self.request.reason
        return str(self.form.cleaned_data["reason"])

    def button(self, words: Words) -> Words:
        """Return the text of the button, which is `words` to do the act."""
        return ASK if self.asks else words

    def wording(self, wording: Wording) -> Wording:
        """Return the texts of the page."""
        return replace(wording, confirm=self.button(wording.confirm))

    def with_note(self, description: SafeString) -> SafeString:
        """Return the description of the act with the note below it."""
        if not self.note:
            return description
        return format_html("{}<br><strong>{}</strong>", description, self.note)


def act_url(act: GuardedAct, subject: Model) -> str:
    """Return the URL of the page on which the user asks for the act and does it."""
    # Django's own page of an account's deletion erases it.
    return row_url(subject, "delete" if isinstance(subject, get_user_model()) else act)


def load_consent(request: HttpRequest, act: GuardedAct, subject: Model) -> Consent:
    """Load where the act of the user on the subject stands, with the form of this stage."""
    reason_form = ReasonForm(request.POST or None)
    if act not in conf().second_person_for:
        return Consent(act, subject, reason_form)
    asked = (
        ActRequest.objects.with_stage()
        .filter(
            own_records(request), act=act, subject_kind=subject._meta.model_name, subject_id=str(subject.pk)
        )
        .order_by("-id")
        .first()
    )
    stage = getattr(asked, "stage", None)
    if asked and stage == RequestStage.WAITING:
        return Consent(act, subject, forms.Form(), _note(WAITS, asked, asked.at), request=asked)
    if asked and stage == RequestStage.AGREED:
        form = AgreedForm(request, asked.pk)
        return Consent(act, subject, form, _answer_note(AGREED, asked), request=asked)
    note = format_html("{}", NEEDED)
    if asked and stage == RequestStage.REFUSED:
        note = format_html("{} {}", NEEDED, _answer_note(REFUSED, asked))
    return Consent(act, subject, reason_form, note, asks=True)


def _answer_note(words: Words, asked: ActRequest) -> SafeString:
    answer = asked.steps.get(kind=StepKind.ANSWER)
    return _note(words, asked, answer.at, name=answer.actor_name, answer=answer.reason)


def _note(words: Words, asked: ActRequest, at: datetime, **texts: str) -> SafeString:
    texts["reason"] = asked.reason
    isolated = {name: format_html("<bdi>{}</bdi>", text) for name, text in texts.items()}
    return format_html(str(words), time=exact_time(at), **isolated)


class SecondPersonMixin(RecordedActsMixin):
    """Admin with acts for which a second person may be needed."""

    def ask_second_person(self, request: HttpRequest, consent: Consent) -> None:
        """Store a request for the act, with the reason of the form."""
        subject = consent.subject
        ActRequest.objects.create(
            **staff_of(request).columns(),
            act=consent.act,
            subject_kind=str(subject._meta.model_name),
            subject_id=str(subject.pk),
            reason=consent.reason,
        )
        self.log_act(request, ActionKind.ASK, subject, consent.reason, f"({consent.act})")
        messages.success(request, _("A second person is asked to agree. Then do it on this page again."))

    def use_consent(self, request: HttpRequest, consent: Consent) -> None:
        """Note that the act is done now, if it was agreed to.

        Raises:
            PermissionDenied: the agreement was used before.
        """
        if consent.request and not add_step(consent.request, StepKind.ACT, staff_of(request).columns()):
            raise PermissionDenied
