"""Whose chat it is, for the pages."""

from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import Http404

from sessions_app.models import Session


async def own_session_or_404(person: AbstractBaseUser | AnonymousUser, session_id: UUID) -> Session:
    """The person's session; somebody else's is answered as if it did not exist."""
    try:
        return await Session.objects.owned_by(person).aget(id=session_id)
    except Session.DoesNotExist as error:
        raise Http404("There is no such chat.") from error
