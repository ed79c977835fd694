"""Files of a session over HTTP: the list, and uploads."""

from collections.abc import Mapping
from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_POST

from runtime.errors import AdkError
from sessions_app import use_cases
from sessions_app.base.client_address import client_network
from sessions_app.chat.requests import error_response
from sessions_app.errors import InvalidInputError
from sessions_app.models import Artifact, Session, ToolJob
from sessions_app.process.threads import download_threads, fetch_rows
from sessions_app.rendering.files import file_facts, file_link
from sessions_app.sessions.ownership import own_session_or_404
from sessions_app.store.file_types import INLINE_IMAGES

MAX_LISTED_FILES = 200
"""Maximum number of file versions in the list; the newest are kept."""


@require_http_methods(["GET", "POST"])
@login_required
async def files(request: HttpRequest, session_id: UUID) -> HttpResponseBase:
    """Return the list of a session's files as an HTML fragment (GET), or store the upload `file` (POST).

    With `?new=<app>` the upload creates the session if it does not exist yet.
    """
    if request.method == "GET":
        return await _list(request, session_id)
    return await _upload(request, session_id)


@require_POST
@login_required
async def remove_file(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Delete the upload `name`, `version`; refused if a message refers to it."""
    version = request.POST.get("version", "")
    if not version.isdecimal() or len(version) >= 10:
        version = "-1"  # no file has this version
    file = (request.POST.get("name", ""), int(version))
    try:
        await use_cases.remove_upload(await request.auser(), session_id, file)
    except AdkError as error:
        return error_response(error)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


async def _list(request: HttpRequest, session_id: UUID) -> HttpResponse:
    session = await own_session_or_404(await request.auser(), session_id)
    owned = Artifact.objects.filter(
        Q(session=session) | Q(session=None), app_name=session.app_name, user_id=session.user_id
    )
    rows = await fetch_rows(owned.order_by("-pk")[:MAX_LISTED_FILES])
    return HttpResponse(await download_threads.run(_render_list, session.pk, rows, await _makers(session)))


async def _makers(session: Session) -> Mapping[tuple[str, int], str]:
    """Return the names of the tools whose jobs made files, by filename and version."""
    jobs = ToolJob.objects.filter(session=session).exclude(artifacts={}).only("tool_name", "artifacts")
    newest = await fetch_rows(jobs.order_by("-pk")[:MAX_LISTED_FILES])
    makers = {}
    for job in newest:
        for file in job.artifacts.items():
            makers[file] = job.tool_name
    return makers


async def _upload(request: HttpRequest, session_id: UUID) -> HttpResponse:
    user = await request.auser()
    new_app = request.GET.get("new", "")
    try:
        upload = request.FILES.get("file")
        if upload is None:
            # A session of somebody else is answered with 404, whatever is wrong with the request.
            if not new_app:
                await own_session_or_404(user, session_id)
            raise InvalidInputError("The request has no file, or a file without a name. Choose a file.")
        network = client_network(request)
        row = await use_cases.upload_file(user, session_id, upload, network, new_app=new_app)
    except AdkError as error:
        return error_response(error)
    link = file_link(session_id, row.filename, row.version)
    fields = {
        "name": row.filename,
        "version": row.version,
        "facts": file_facts(row, link),
        "url": link.url,
        "preview_url": link.preview_url,
        "is_image": row.mime_type in INLINE_IMAGES,
    }
    return JsonResponse(fields, status=HTTPStatus.CREATED)


def _render_list(session_id: UUID, rows: list[Artifact], makers: Mapping[tuple[str, int], str]) -> str:
    listed = []
    for row in rows:
        link = file_link(session_id, row.filename, row.version)
        listed.append((link, file_facts(row, link), makers.get((row.filename, row.version))))
    return render_to_string("chat/file_list.html", {"listed": listed})
