"""Correction of a session's state by staff: the page, and the form for new values of some keys.

A correction is an event with a state delta, not an edit: the log stays whole, and another correction can undo it.

The form has digests of the values as shown. An agent may change a key while staff write: the correction compares the
digests and refuses to overwrite a newer value.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.translation import gettext as _

from runtime.errors import AdkError, StateValueError
from runtime.sessions.state import State
from sessions_app.admin.framework.confirmed_action import ReasonForm
from sessions_app.admin.framework.links import session_url
from sessions_app.admin.framework.permissions import Right, has_whole_app, require
from sessions_app.admin.framework.staff_records import note_access, staff_of
from sessions_app.admin.framework.unmasking import unmask_if_granted
from sessions_app.admin.session.actions import SessionActionsMixin
from sessions_app.base.codec import json_object
from sessions_app.invocations.correct_state import correct_state
from sessions_app.invocations.state_delta import as_given_json
from sessions_app.models import AccessKind, ActionKind, Event, Session
from sessions_app.process import threads
from sessions_app.rendering.audit_values import indent_json
from sessions_app.rendering.hidden_characters import escape_in_json
from sessions_app.secrets.masking import mask
from sessions_app.store.stored_values import MAX_KEYS, MAX_VALUE_LENGTH, StoredValue, read_values

MAX_CORRECTED = 100
"""Largest number of keys in a correction."""


class CorrectionForm(ReasonForm):
    """New values as JSON, and a reason.

    Attributes:
        changes: new values by key; None for a key to delete. Set by validation.
        seen: digests of the values as shown, by key. Set by validation for the keys in `changes`.
    """

    def __init__(
        self,
        values: Sequence[StoredValue],
        data: Mapping[str, Any] | None,
        proposed: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the form for the keys of the values.

        Args:
            data: the posted fields; None for an empty form.
            proposed: initial values by key, instead of the stored values.
        """
        super().__init__(data)
        self.values = values
        self.changes: dict[str, Any] = {}
        self.seen: dict[str, str] = {}
        for number, value in enumerate(values):
            initial = indent_json(value.text) if value.is_whole else ""
            if proposed is not None:
                initial = json.dumps(proposed.get(value.key), ensure_ascii=False, indent=2)
            self.fields[f"value-{number}"] = forms.CharField(
                label=value.key,
                required=False,
                strip=False,
                initial=escape_in_json(initial),
                widget=forms.Textarea(attrs={"rows": 6, "cols": 60, "spellcheck": "false", "dir": "auto"}),
                help_text="" if value.is_whole else _("Too long to show here. What you write replaces it."),
            )
            self.fields[f"delete-{number}"] = forms.BooleanField(
                label=_("Delete: agents read null"), required=False
            )
            self.fields[f"seen-{number}"] = forms.CharField(
                required=False, initial=value.digest, widget=forms.HiddenInput
            )
        self.order_fields([name for name in self.fields if name != "reason"])

    def rows(self) -> Iterator[tuple[str, forms.BoundField, forms.BoundField, forms.BoundField]]:
        """Yield each key with its fields: value, deletion, digest."""
        for number, value in enumerate(self.values):
            yield value.key, self[f"value-{number}"], self[f"delete-{number}"], self[f"seen-{number}"]

    def renewed(self, values: Sequence[StoredValue]) -> Self:
        """Return the form with what was written, after a conflict.

        A value that somebody else has changed is shown as it is now, with what was written for it below.

        Args:
            values: the newest values of the same keys.
        """
        form = type(self)(values, None)
        form.initial["reason"] = self.cleaned_data["reason"]
        for number, value in enumerate(values):
            text = self.cleaned_data[f"value-{number}"]
            is_deleted = self.cleaned_data[f"delete-{number}"]
            field = form.fields[f"value-{number}"]
            if value.digest == self.cleaned_data[f"seen-{number}"]:
                field.initial = text
                form.fields[f"delete-{number}"].initial = is_deleted
            else:
                written = "null" if is_deleted else text
                field.help_text = _("Somebody else has changed this value. You wrote: %s") % written
        return form

    def clean(self) -> dict[str, Any]:
        """Read the values, and leave out unchanged values.

        Raises:
            ValidationError: no value is changed.
        """
        given: dict[str, Any] = super().clean() or {}
        for number, stored in enumerate(self.values):
            name = f"value-{number}"
            try:
                value = None if given.get(f"delete-{number}") else _parse(stored.key, given.get(name) or "")
            except ValidationError as error:
                self.add_error(name, error)
                continue
            seen = given.get(f"seen-{number}") or ""
            if not (
                seen == stored.digest and stored.is_whole and stored.length and _equals(stored.text, value)
            ):
                self.changes[stored.key] = value
                if seen:
                    self.seen[stored.key] = seen
        if not self.changes and not self.errors:
            raise ValidationError(_("Nothing is changed."))
        return given


def _parse(key: str, text: str) -> Any:
    """Return the JSON value after the checks for values of agents."""
    try:
        return as_given_json({key: json.loads(text)})[key]
    except StateValueError as error:
        raise ValidationError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ValidationError(
            _(
                "This is not JSON. Write a text in double quotes, a number, true, false, null, a list or an object."
            )
        ) from error


def _equals(stored: str, value: Any) -> bool:
    try:
        # As JSON: in Python `1 == True` and `1 == 1.0`.
        return bool(json.dumps(json.loads(stored), sort_keys=True) == json.dumps(value, sort_keys=True))
    except (ValueError, RecursionError):  # PostgreSQL stores JSON that Python refuses.
        return False


class StateCorrectionMixin(SessionActionsMixin):
    """Admin of sessions with a page to correct their state."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.view_path("<uuid:session_id>/state/", self.correction_view, "state"),
            *super().get_urls(),
        ]

    def correction_view(self, request: HttpRequest, session_id: UUID) -> HttpResponse:
        """Show the keys, then the form for the chosen keys; append the posted correction."""
        require(request, Right.CORRECT_STATE)
        session = self.get_session(request, session_id)
        unmask_if_granted(request, session.pk)
        proposed = _before(session, request.GET.get("undo", ""))
        query = request.POST if request.method == "POST" else request.GET
        chosen = query.getlist("key") if proposed is None else proposed
        keys = list(dict.fromkeys(filter(None, [*chosen, query.get("new", "").strip()])))
        if not keys:
            return self._correction_page(request, session, values=read_values(session.pk))
        # Refused, not cut: a correction, or the undoing of one, must be whole.
        if len(keys) > MAX_CORRECTED:
            text = _("At most %s keys can be corrected at once: choose fewer.") % MAX_CORRECTED
            messages.error(request, text)
            return HttpResponseRedirect(request.path)
        values = read_values(session.pk, keys, MAX_VALUE_LENGTH)
        if refusal := _why_not(request, session, values, proposed):
            messages.error(request, refusal)
            return HttpResponseRedirect(request.path)
        form = CorrectionForm(values, request.POST or None, proposed)
        if not form.is_valid():
            return self._correction_page(request, session, form=form)
        return self._correct(request, session, form)

    def _correct(self, request: HttpRequest, session: Session, form: CorrectionForm) -> HttpResponse:
        reason = form.cleaned_data["reason"]
        # The coroutine needs further connections. If all requests kept their connection until then, none would be
        # left.
        connection.close()
        try:
            correction = correct_state(session, form.changes, form.seen, by=staff_of(request), reason=reason)
            seq = threads.run(correction)
        except AdkError as error:
            messages.error(request, str(error))
            newest = read_values(session.pk, [value.key for value in form.values], MAX_VALUE_LENGTH)
            if refusal := _why_not(request, session, newest, None):
                messages.error(request, refusal)
                return HttpResponseRedirect(request.path)
            return self._correction_page(request, session, form=form.renewed(newest))
        self.log_act(request, ActionKind.CHANGE, session, reason)
        undo = f"{request.path}?undo={seq}"
        done = _('The state is corrected by event #{}. <a href="{}">Undo…</a>')
        messages.success(request, format_html(done, seq, undo))
        return HttpResponseRedirect(session_url(session.pk, seq=seq))

    def _correction_page(self, request: HttpRequest, session: Session, **content: Any) -> HttpResponse:
        note_access(request, AccessKind.OPEN, ("session", session.pk), "state")
        return self.show(
            request,
            "admin/sessions_app/session/correct_state.html",
            _("Correct the state"),
            session=session,
            session_url=session_url(session.pk),
            most_keys=MAX_KEYS,
            **content,
        )


def _why_not(
    request: HttpRequest, session: Session, values: list[StoredValue], proposed: Mapping[str, Any] | None
) -> str:
    """Return why the user may not correct the values; empty if the user may."""
    # The form would write the mask over the secret.
    hidden = [value.key for value in values if value.is_masked or _proposes_secret(value.key, proposed)]
    of_app = [value.key for value in values if value.key.startswith(State.APP_PREFIX)]
    if of_app and not has_whole_app(request, session.app_name):
        text = _(
            "%(keys)s: state of the app is everybody's, and your remit has some people only. "
            "Ask staff whose remit has the whole app."
        )
        return text % {"keys": ", ".join(of_app)}
    text = _("%(keys)s: a value is masked. Unmask the session to correct it.")
    return text % {"keys": ", ".join(hidden)} if hidden else ""


def _proposes_secret(key: str, proposed: Mapping[str, Any] | None) -> bool:
    """True if the proposed value of the key has a part to mask."""
    values = {} if proposed is None else {key: proposed.get(key)}
    return bool(mask(values) != values)


def _before(session: Session, seq: str) -> Mapping[str, Any] | None:
    """Return the values before an event by the keys of its state delta, None for a new key.

    Return None if `seq` is not the number of an event with a state delta.
    """
    # A bigint has at most 19 digits: PostgreSQL would refuse more.
    if not seq.isdecimal() or len(seq) > 18:
        return None
    event = Event.objects.filter(session=session, seq=int(seq)).first()
    delta = json_object(event and event.body, "actions", "stateDelta")
    if event is None or not delta:
        return None
    return {key: (event.before or {}).get(key) for key in delta if not key.startswith("temp:")}
