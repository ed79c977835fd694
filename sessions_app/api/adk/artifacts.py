"""Files of a session, and of its person (`user:`): names, versions, contents, metadata. Names may have slashes."""

from typing import Any, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import ResolverMatch, register_converter, reverse
from django.urls.converters import StringConverter
from ninja import Router
from ninja.errors import ValidationError
from pydantic import Field

from sessions_app.api.adk.names import AdkSchema, person_of
from sessions_app.models import Artifact, Scope
from sessions_app.process.threads import download_threads, fetch_rows
from sessions_app.store.artifact_service import DjangoArtifactService, artifact_versions, load_part


class ArtifactNameConverter(StringConverter):
    """Any filename, including slashes and line breaks."""

    regex = r"[\s\S]+"


register_converter(ArtifactNameConverter, "artifact")
ARTIFACTS = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts"
VERSIONS = ARTIFACTS + "/{artifact:artifact_name}/versions"
LATEST = "latest"
router = Router(tags=["artifacts"], by_alias=True, exclude_none=True)


class ArtifactVersion(AdkSchema):
    """A version of a file.

    Attributes:
        canonical_uri: address of the download.
        create_time: seconds since the epoch.
    """

    version: int
    canonical_uri: str
    custom_metadata: dict[str, Any] = Field(default_factory=dict)
    create_time: float
    mime_type: str | None


@router.get(VERSIONS + "/{version_id}/metadata", response=ArtifactVersion)
async def artifact_version_metadata(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, artifact_name: str, version_id: str
) -> ArtifactVersion:
    """Return the metadata of a version."""
    rows = await _rows(request, app_name, user_id, session_id, artifact_name)
    return _metadata(request, _version_or_404(rows, _number(version_id)))


@router.get(VERSIONS + "/metadata", response=list[ArtifactVersion])
async def artifact_versions_metadata(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, artifact_name: str
) -> list[ArtifactVersion]:
    """Return the metadata of each version, oldest first."""
    rows = await _rows(request, app_name, user_id, session_id, artifact_name)
    return [_metadata(request, row) for row in rows]


@router.get(VERSIONS + "/{version_id}")
async def load_artifact_version(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, artifact_name: str, version_id: str
) -> HttpResponse:
    """Return a version as a part: a text, or bytes in base64."""
    rows = await _rows(request, app_name, user_id, session_id, artifact_name)
    return await _content(_version_or_404(rows, _number(version_id)))


@router.get(ARTIFACTS, response=list[str])
async def list_artifact_names(
    request: HttpRequest, app_name: str, user_id: str, session_id: str
) -> list[str]:
    """List the names of the files of the session and of the person."""
    person = await person_of(request, Scope.READ, app_name, user_id)
    names = {"app_name": app_name, "user_id": str(person.pk), "session_id": session_id}
    return await DjangoArtifactService().list_artifact_keys(**names)


@router.get(VERSIONS, response=list[int])
async def list_artifact_versions(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, artifact_name: str
) -> list[int]:
    """List the numbers of the versions, oldest first."""
    rows = await _rows(request, app_name, user_id, session_id, artifact_name)
    return [row.version for row in rows]


# Declared last: a name may have slashes, and would match the ends of the other addresses.
@router.get(ARTIFACTS + "/{artifact:artifact_name}")
async def load_artifact(
    request: HttpRequest,
    app_name: str,
    user_id: str,
    session_id: str,
    artifact_name: str,
    version: int | None = None,
) -> HttpResponse:
    """Return the newest version, or the version that the query names."""
    rows = await _rows(request, app_name, user_id, session_id, artifact_name)
    return await _content(_version_or_404(rows, version))


async def _rows(
    request: HttpRequest, app_name: str, user_id: str, session_id: str, name: str
) -> list[Artifact]:
    person = await person_of(request, Scope.READ, app_name, user_id)
    return await fetch_rows(artifact_versions(app_name, person.pk, session_id, name).order_by("version"))


def _number(version_id: str) -> int | None:
    """Parse the number of a version; return None for the newest."""
    if version_id == LATEST:
        return None
    if not version_id.isdecimal() or len(version_id) > 9:
        raise ValidationError([{"loc": ("path", "version_id"), "msg": "A version is a number or “latest”"}])
    return int(version_id)


def _version_or_404(rows: list[Artifact], version: int | None) -> Artifact:
    if version is not None:
        rows = [row for row in rows if row.version == version]
    if not rows:
        raise Http404
    return rows[-1]


async def _content(row: Artifact) -> HttpResponse:
    # A large file takes long to encode, so the encoding is in a thread as well.
    part = await download_threads.run(load_part, row)
    body = await download_threads.run(part.model_dump_json, by_alias=True, exclude_none=True)
    return HttpResponse(body, content_type="application/json", headers={"Cache-Control": "private, no-store"})


def _metadata(request: HttpRequest, row: Artifact) -> ArtifactVersion:
    match = cast(ResolverMatch, request.resolver_match)
    parts = {**match.kwargs, "version_id": str(row.version)}
    return ArtifactVersion(
        version=row.version,
        canonical_uri=request.build_absolute_uri(reverse("api-adk:load_artifact_version", kwargs=parts)),
        create_time=row.created_at.timestamp(),
        mime_type=row.mime_type or None,
    )
