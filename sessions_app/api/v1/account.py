"""The caller, and the apps of the site."""

from django.http import HttpRequest
from ninja import Router, Schema

from sessions_app.api.access.callers import caller_of
from sessions_app.models import Scope
from sessions_app.sessions.agent_access import usable_apps

router = Router(tags=["account"])


class AppSummary(Schema):
    """An app: a root agent with its name."""

    name: str
    description: str


class Account(Schema):
    """The caller.

    Attributes:
        key: beginning of the API key; null for a browser's sign-in.
        scopes: scopes of the key; all of them for a browser's sign-in.
    """

    user_id: str
    username: str
    key: str | None
    scopes: list[Scope]


@router.get("/me", response=Account)
async def me(request: HttpRequest) -> Account:
    """Return the caller and its scopes."""
    caller = caller_of(request)
    key = caller.key
    return Account(
        user_id=str(caller.user.pk),
        username=caller.user.get_username(),
        key=key.prefix if key else None,
        scopes=[Scope(scope) for scope in key.scopes] if key else list(Scope),
    )


@router.get("/apps", response=list[AppSummary])
async def apps(request: HttpRequest) -> list[AppSummary]:
    """List the apps that the person of the caller may use."""
    caller = caller_of(request)
    caller.require(Scope.READ)
    return [
        AppSummary(name=name, description=app.root_agent.description or "")
        for name, app in (await usable_apps(caller.user)).items()
    ]
