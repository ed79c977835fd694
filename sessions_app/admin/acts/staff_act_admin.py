"""Admin of acts of staff, with the page "Who did what" over all acts."""

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.acts.merged_list import ActPage, load_acts
from sessions_app.admin.acts.sources import Filters
from sessions_app.admin.framework.columns import exact_time, short_time
from sessions_app.admin.framework.permissions import Right, may
from sessions_app.admin.framework.recorded_acts import actor_in_words, staff_act_in_words
from sessions_app.admin.records import StaffRecordAdmin
from sessions_app.base.actors import NAME_LENGTH, ActorKind
from sessions_app.models import AccessKind, StaffAct

ALL_ACTS = "all"
"""Name of the view of all acts."""
POSITION = "p"


class ActFilterForm(forms.Form):
    """Actor, tool and day of acts."""

    kind = forms.ChoiceField(
        required=False, label=_("Kind of actor"), choices=[("", "–"), *ActorKind.choices]
    )
    actor = forms.CharField(required=False, max_length=NAME_LENGTH, label=_("Who"))
    tool = forms.CharField(required=False, max_length=NAME_LENGTH, label=_("Tool"))
    day = forms.DateField(required=False, label=_("Day"), widget=forms.DateInput({"type": "date"}))


@admin.register(StaffAct)
class StaffActAdmin(StaffRecordAdmin):
    """Acts of staff, newest first."""

    list_display = ("at", "actor_name", "act", *StaffRecordAdmin.columns)
    list_filter = ("action", "subject_kind", "at")
    fields = ("at", "action", *StaffRecordAdmin.record_fields)

    @admin.display(description=_("Act"))
    def act(self, record: StaffAct) -> str:
        return staff_act_in_words(record.action, record.subject_kind, record.detail)

    class Media:
        css = {"all": ["sessions_app/admin/figures.css"]}

    def get_urls(self) -> list[URLPattern]:
        return [self.view_path("all/", self.all_view, ALL_ACTS), *super().get_urls()]

    def all_view(self, request: HttpRequest) -> HttpResponse:
        """Return the page with the acts of staff, people, API keys and agents, newest first."""
        self.require_reading(request)
        form = ActFilterForm(request.GET, auto_id="filter-%s")
        page = ActPage()
        if form.is_valid():
            page = self._load(request, Filters(**form.cleaned_data))
        query = request.GET.copy()
        newest = None
        if POSITION in query:
            del query[POSITION]
            newest = query.urlencode()
        next_page = ""
        if page.position:
            query[POSITION] = page.position
            next_page = query.urlencode()
        return self.show(
            request,
            "admin/sessions_app/staffact/all.html",
            _("Who did what"),
            form=form,
            rows=[(entry, exact_time(entry.at), actor_in_words(entry.actor)) for entry in page.entries],
            next_page=next_page,
            newest=newest,
            looked_back_to=short_time(page.looked_back_to),
        )

    def _load(self, request: HttpRequest, filters: Filters) -> ActPage:
        if may(request, Right.VIEW_TEXT):
            # The arguments of calls are words of conversations.
            self.note_access(request, AccessKind.OPEN, detail=request.GET.urlencode())
        try:
            return load_acts(request, filters, request.GET.get(POSITION, ""))
        except ValueError as error:
            raise Http404("There is no such page of acts.") from error
