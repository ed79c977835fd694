"""adk-web, google-adk's page for developers, served to staff under `/dev-ui/` from google-adk's package.

The files are served unchanged. The address of the API, the user and the CSRF token reach the page through its own
means: a configuration file, the query string, and the cookie that Angular programs read.
"""

import mimetypes
from http import HTTPStatus
from importlib import metadata
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils._os import safe_join
from django.views.decorators.http import require_safe

from sessions_app.conf import conf
from sessions_app.process.threads import download_threads
from sessions_app.sessions.ownership import User

INDEX = "index.html"
RUNTIME_CONFIG = "assets/config/runtime-config.json"
COOKIE = "XSRF-TOKEN"
"""Cookie with the CSRF token. Angular programs such as adk-web send its value back as `X-XSRF-TOKEN`."""
MISSING = (
    "The developer's page needs the package google-adk: pip install -r requirements-adk.txt, "
    'or name a directory with its files in ADK["dev_ui_directory"].\n'
)
POLICY = "; ".join(
    (
        "default-src 'self'",
        # The page has one inline script, an attribute that turns its stylesheet on; this is the script's hash.
        # Graphs are drawn by Graphviz as WebAssembly.
        "script-src 'self' 'wasm-unsafe-eval' 'unsafe-hashes' "
        "'sha256-MhtPZXr7+LpJUY5qtMutB+qWfQtMaPccfe7QXtCcEYc='",
        "style-src 'self' 'unsafe-inline' https://fonts.googleapis.com",
        "font-src 'self' data: https://fonts.gstatic.com",
        "img-src 'self' data: blob:",
        "media-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


@require_safe
async def dev_ui(request: HttpRequest, name: str = "") -> HttpResponse:
    """Return a file of adk-web; without a name the page itself.

    Raises:
        Http404: the setting is off, or there is no such file.
        PermissionDenied: the user is not staff.
    """
    if not conf().dev_ui:
        raise Http404
    user = await request.auser()
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        raise PermissionDenied
    if name == RUNTIME_CONFIG:
        return JsonResponse(
            {"backendUrl": _backend_url(), "telemetry": False}, headers={"Cache-Control": "no-store"}
        )
    directory = _directory()
    if directory is None:
        return HttpResponse(MISSING, status=HTTPStatus.NOT_IMPLEMENTED, content_type="text/plain")
    if name in ("", INDEX):
        return _page(request, directory, user)
    return await _file(directory, name)


def _page(request: HttpRequest, directory: Path, user: User) -> HttpResponse:
    """Return the page, or redirect to its address with `userId`."""
    # adk-web reads the user from its address, and would use the name "user" without one.
    if "userId" not in request.GET:
        query = urlencode({**request.GET.dict(), "userId": user.get_username()})
        return HttpResponseRedirect(f"{request.path}?{query}")
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    response = HttpResponse((directory / INDEX).read_bytes(), headers=headers)
    response.set_cookie(
        COOKIE,
        get_token(request),
        path=reverse("dev-ui:page"),
        secure=settings.CSRF_COOKIE_SECURE,
        samesite="Strict",
    )
    return response


async def _file(directory: Path, name: str) -> HttpResponse:
    try:
        path = Path(safe_join(directory, name))  # refuses `..`
        content = await download_threads.run(path.read_bytes)
    except (SuspiciousFileOperation, OSError, ValueError) as error:
        raise Http404 from error
    mime_type, _ = mimetypes.guess_type(path.name)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "private, max-age=3600"}
    return HttpResponse(content, content_type=mime_type or "application/octet-stream", headers=headers)


def _directory() -> Path | None:
    """Return the directory with adk-web's files; None if it is not installed."""
    if conf().dev_ui_directory:
        directory = Path(conf().dev_ui_directory)
    else:
        try:
            package = metadata.distribution("google-adk")
        except metadata.PackageNotFoundError:
            return None
        directory = Path(str(package.locate_file("google/adk/cli/browser")))
    return directory if (directory / INDEX).is_file() else None


def _backend_url() -> str:
    return reverse("api-adk:list_apps").removesuffix("/list-apps")
