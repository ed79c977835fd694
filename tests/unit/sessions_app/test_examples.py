"""Document of the API (OpenAPI): each body has an example, which keeps to its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ninja import NinjaAPI

from sessions_app.api.adk.adk_api import adk_api
from sessions_app.api.document import bodies
from sessions_app.api.site_api import site_api

FORMATS = Draft202012Validator.FORMAT_CHECKER


@pytest.mark.parametrize("api", [site_api, adk_api], ids=["v1", "adk"])
def test_each_body_has_an_example_that_keeps_to_its_schema(api: NinjaAPI) -> None:
    document = json.loads(json.dumps(api.get_openapi_schema(), default=str))
    checked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for media in bodies(operation):
                if not is_of_bytes(media["schema"]):
                    schema = {**media["schema"], "components": document["components"]}
                    example = media.get("example", schema.get("example"))
                    assert example is not None, f"{method} {path}"
                    Draft202012Validator(schema, format_checker=FORMATS).validate(example)
                    checked += 1
    assert checked > 20


def is_of_bytes(schema: dict[str, Any]) -> bool:
    """True for a body that is bytes, or a form with a file."""
    return any(one.get("format") == "binary" for one in (schema, *schema.get("properties", {}).values()))
