"""StreamingApi: an API whose document names the streams that are served beside Django's handler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from sessions_app.api.document import add_problems
from sessions_app.api.examples import Examples, add_examples
from sessions_app.api.stream_server import ApiStream


class StreamingApi(NinjaAPI):
    """The operations that Django's handler serves, and the streams."""

    def __init__(self, streams: Sequence[ApiStream], examples: Examples, **options: Any) -> None:
        super().__init__(**options)
        self.streams, self.examples = streams, examples

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the document, with the streams, the problem details and the examples."""
        document = super().get_openapi_schema(**options)
        document["paths"].update({stream.path: stream.description for stream in self.streams})
        add_problems(document)
        add_examples(document, self.examples)
        return document

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        """Return the URL patterns; an address that takes GET takes HEAD, too."""
        patterns: list[URLResolver | URLPattern] = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _with_head(pattern.callback)
        return patterns


def _with_head(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return a view that answers HEAD as GET unless it has an operation for it. The server leaves the body out."""

    @wraps(view)
    async def answer_async(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = await view(request, *args, **kwargs)
        if _is_head_of_get(request, response):
            with _as_get(request):
                response = await view(request, *args, **kwargs)
        return response

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = view(request, *args, **kwargs)
        if _is_head_of_get(request, response):
            with _as_get(request):
                response = view(request, *args, **kwargs)
        return response

    return answer_async if iscoroutinefunction(view) else answer


def _is_head_of_get(request: HttpRequest, response: HttpResponseBase) -> bool:
    """True for a HEAD that was refused at an address that takes GET."""
    is_refused = request.method == "HEAD" and response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    return is_refused and "GET" in response["Allow"].split(", ")


@contextmanager
def _as_get(request: HttpRequest) -> Iterator[None]:
    request.method = "GET"
    try:
        yield
    finally:
        request.method = "HEAD"
