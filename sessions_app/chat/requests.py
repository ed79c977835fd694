"""Parts that views of the chat share: who acts, what staff may do, and refusals as JSON."""

from django.contrib.auth.models import PermissionsMixin
from django.http import HttpRequest, JsonResponse

from runtime.errors import AdkError
from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.base.client_address import client_address
from sessions_app.errors import http_status
from sessions_app.process.threads import in_thread
from sessions_app.rendering.sentences import in_language
from sessions_app.sessions.ownership import User


async def actor_of(request: HttpRequest) -> UserActor:
    """Return the signed-in user as the actor of what the request asks for."""
    return actors.person(await request.auser(), client_address(request))


async def has_rights(user: User, *permissions: str) -> bool:
    """Return True for a member of staff who has all these permissions."""
    if not isinstance(user, PermissionsMixin) or not getattr(user, "is_staff", False):
        return False
    return await in_thread(user.has_perms, permissions)


def error_response(error: AdkError) -> JsonResponse:
    """Return a JSON response with the error's message under `error`, in the active language."""
    return JsonResponse({"error": in_language(str(error))}, status=http_status(error))
