"""Page of a passage, to which the sources of an answer link."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from sessions_app.models import KnowledgeBase, KnowledgePassage, Session


@require_GET
@login_required
def passage_page(request: HttpRequest, passage_id: int) -> HttpResponse:
    """Show a passage with its place in the document."""
    passage = found_passage(request.user, passage_id)
    if passage is None:
        raise Http404("There is no such passage here.")
    return render(request, "chat/passage.html", {"person": request.user, "passage": passage})


def found_passage(user: Any, passage_pk: int) -> KnowledgePassage | None:
    """Return a passage that an agent has found in a conversation of the user, if the user may still read its base."""
    sessions = Session.objects.owned_by(user).filter(knowledge_searches__uses__passage=passage_pk)
    readable = KnowledgeBase.objects.none()
    for app_name in set(sessions.values_list("app_name", flat=True)):
        readable |= KnowledgeBase.objects.readable_by(user, app_name)
    passages = KnowledgePassage.objects.current_in(readable.values("pk"))
    return passages.select_related("version__document").filter(pk=passage_pk).first()
