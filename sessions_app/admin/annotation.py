"""Admin of annotations: labels and notes of staff."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.framework.base import SessionRowAdmin
from sessions_app.admin.framework.columns import shown_column
from sessions_app.admin.framework.filters import AppFilter, ValueFilter, values_within_remits
from sessions_app.admin.framework.keyset_list import KeysetAdmin
from sessions_app.admin.framework.links import session_url
from sessions_app.admin.framework.permissions import REMIT_OF_ROW, Right, may, within_remits
from sessions_app.admin.framework.staff_records import RecordedActsMixin, staff_of
from sessions_app.models import Annotation, Session

MAX_SHOWN = 20


def annotations_of(request: HttpRequest, session: Session) -> Iterable[Annotation]:
    """Return the newest annotations of a session; none for staff who may not view them."""
    if not may(request, "sessions_app.view_annotation"):
        return ()
    return Annotation.objects.filter(session=session).order_by("-id")[:MAX_SHOWN]


class LabelFilter(ValueFilter):
    title = _("label")
    parameter_name = "label"

    def values(self, request: HttpRequest) -> Iterable[str]:
        """Return the labels of sessions within the remits; no labels without the rights to read annotations."""
        # The list of sessions has this filter, too, for staff without these rights.
        if not (may(request, "sessions_app.view_annotation") and may(request, Right.VIEW_TEXT)):
            return []
        return filter(None, values_within_remits(request, Annotation, "label"))


class SessionLabelFilter(LabelFilter):
    """Filter of sessions by the label of an annotation."""

    def matching(self, queryset: Any, value: str) -> Any:
        return queryset.filter(pk__in=Annotation.objects.filter(label=value).values("session"))


class AnnotationForm(forms.ModelForm):  # type: ignore[type-arg]
    """Label, note or both."""

    class Meta:
        model = Annotation
        fields = ("session", "seq", "label", "note")
        labels: ClassVar = {"seq": _("Number of the event, if it is about one")}

    def clean(self) -> dict[str, Any]:
        """Refuse an empty annotation, and an annotation of a missing event.

        Raises:
            ValidationError: a field is missing or wrong.
        """
        values: dict[str, Any] = super().clean() or {}
        if not (values.get("label") or values.get("note")):
            raise forms.ValidationError(_("Give a label, a note or both."))
        seq = values.get("seq")
        session = values.get("session")
        if session and seq is not None and not 1 <= seq <= session.last_seq:
            raise forms.ValidationError({"seq": _("The session has no event of this number.")})
        return values


@admin.register(Annotation)
class AnnotationAdmin(RecordedActsMixin, KeysetAdmin, SessionRowAdmin):
    """Annotations, newest first. Staff with the permissions add and delete annotations; nobody changes them."""

    shows_text = True
    form = AnnotationForm
    list_display = ("id", "label", "short_note", "of_session", "app", "event", "by_name", "created_at")
    list_filter = (LabelFilter, AppFilter)
    ordering = ("-id",)
    raw_id_fields = ("session",)
    short_note = shown_column("note", _("Note"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may(request, "sessions_app.add_annotation") and may(request, Right.VIEW_TEXT)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return may(request, "sessions_app.delete_annotation") and may(request, Right.VIEW_TEXT)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ("session", "seq", "label", "note")
        return ("of_session", "event", "label", "note", "by_name", "created_at")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Accept only sessions within the remits of the user."""
        if db_field.name == "session":
            kwargs["queryset"] = within_remits(request, Session.objects.all(), REMIT_OF_ROW)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Annotation, form: Any, change: bool) -> None:
        obj.by_id = request.user.pk
        obj.by_name = staff_of(request).name
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Annotation, *args: Any) -> HttpResponse:
        """Redirect to the session, at the annotated event."""
        super().response_add(request, obj, *args)  # adds the message
        return HttpResponseRedirect(session_url(obj.session_id, seq=obj.seq))
