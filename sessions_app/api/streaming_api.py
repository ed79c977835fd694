"""An API of django-ninja whose OpenAPI document includes streams, which other ASGI applications serve."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from sessions_app.api.document import add_examples, add_problems
from sessions_app.api.stream_server import ApiStream


class StreamingApi(NinjaAPI):
    """API with operations, which Django's handler serves, and streams."""

    def __init__(self, streams: Sequence[ApiStream], **options: Any) -> None:
        super().__init__(**options)
        self.streams = streams

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the document, with streams, problem details and examples."""
        document = super().get_openapi_schema(**options)
        document["paths"].update({stream.path: stream.description for stream in self.streams})
        add_problems(document)
        add_examples(document)
        return document

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        """Return the URL patterns. Each address with GET also takes HEAD."""
        # django-ninja answers HEAD with 405 otherwise. There is no public hook around its views.
        patterns: list[URLResolver | URLPattern] = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _with_head(pattern.callback)
        return patterns


def _with_head(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return a view that answers HEAD like GET. The server omits the body."""

    @wraps(view)
    async def answer_async(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with _head_as_get(request):
            response: HttpResponseBase = await view(request, *args, **kwargs)
        return response

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with _head_as_get(request):
            response: HttpResponseBase = view(request, *args, **kwargs)
        return response

    return answer_async if iscoroutinefunction(view) else answer


@contextmanager
def _head_as_get(request: HttpRequest) -> Iterator[None]:
    # Restored afterwards: middleware and the server must see HEAD.
    method = request.method
    if method == "HEAD":
        request.method = "GET"
    try:
        yield
    finally:
        request.method = method
