"""StreamingApi: an API whose document names the streams that are served beside Django's handler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
