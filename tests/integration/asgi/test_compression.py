"""Contract: static files, pages and JSON are compressed; pages never where another site could choose a part of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import brotli
import pytest
from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from django.urls import reverse

from adk_site.compression import CompressPages
from adk_site.static_files import CompressStaticFiles

TEXT = "one and the same sentence. " * 100
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def person(client: Client, django_user_model: type[User]) -> Client:
    client.force_login(django_user_model.objects.create_user("ada"))
    return client


@pytest.mark.django_db
def test_a_page_is_compressed(person: Client) -> None:
    response = person.get(reverse("chat:home"), headers=GZIP)
    assert response["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response["Vary"]
    assert b"<html" in gzip.decompress(response.content)


@pytest.mark.django_db
def test_a_page_whose_address_another_site_could_vary_is_not_compressed(person: Client) -> None:
    response = person.get(reverse("chat:home") + "?q=secret", headers=GZIP)
    assert not response.has_header("Content-Encoding")
    assert b"<html" in response.content


def test_json_for_a_key_is_compressed_with_a_query_too() -> None:
    request = RequestFactory().get("/api/v1/sessions?limit=5", headers=GZIP)
    assert compressed(CompressPages, request, HttpResponse(TEXT, content_type="application/json"))


def test_a_download_is_not_compressed() -> None:
    response = FileResponse(iter([TEXT.encode()]), content_type="text/plain")
    assert not compressed(CompressPages, RequestFactory().get("/", headers=GZIP), response)


def test_a_response_keeps_the_etag_that_a_change_must_name() -> None:
    response = HttpResponse(TEXT, content_type="application/json", headers={"ETag": '"1"'})
    assert not compressed(CompressPages, RequestFactory().get("/", headers=GZIP), response)
    assert response["ETag"] == '"1"'


def test_development_compresses_scripts_but_no_pictures_and_no_parts_of_files() -> None:
    request = RequestFactory().get("/static/sessions_app/chat/main.js", headers=GZIP)
    assert compressed(CompressStaticFiles, request, HttpResponse(TEXT, content_type="text/javascript"))
    assert not compressed(CompressStaticFiles, request, HttpResponse(TEXT, content_type="image/png"))
    part = HttpResponse(TEXT, content_type="text/javascript", status=206)
    assert not compressed(CompressStaticFiles, request, part)


@pytest.mark.parametrize(
    ("accepted", "decompress"), [("gzip, br", brotli.decompress), ("gzip", gzip.decompress)]
)
def test_development_compresses_as_well_as_the_browser_allows(
    accepted: str, decompress: Callable[[bytes], bytes]
) -> None:
    request = RequestFactory().get("/static/any.js", headers={"Accept-Encoding": accepted})
    file = FileResponse(iter([TEXT.encode()]), content_type="text/javascript")
    response = CompressStaticFiles(lambda _: file).process_response(request, file)
    assert isinstance(response, StreamingHttpResponse)
    assert decompress(b"".join(response)) == TEXT.encode()
    assert "Accept-Encoding" in response["Vary"]


def compressed(
    middleware: type[CompressPages | CompressStaticFiles], request: HttpRequest, response: HttpResponseBase
) -> bool:
    answer = middleware(lambda _: response).process_response(request, response)
    return answer.has_header("Content-Encoding")
