"""Contract T11: names, references and servers of documents that nobody has checked."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest

from runtime.errors import ConfigurationError
from runtime.tools.openapi_tool import OpenAPIToolset
from tests.unit.runtime.openapi.specs import Json, body, parameter, schema_of, spec_of, tool_of

URL = "https://api.example.com"


def names_of(spec: Json) -> list[str]:
    return [tool.name for tool in OpenAPIToolset(spec_dict=spec)._tools]


def with_operations(*ids: str | None) -> Json:
    operations = [{"operationId": name} if name is not None else {} for name in ids]
    paths = {f"/p{index}/Sub-path": {"get": operation} for index, operation in enumerate(operations)}
    return {"openapi": "3.1.0", "servers": [{"url": URL}], "paths": paths}


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("listPets", "list_pets"),
        ("ListHTTPServers", "list_http_servers"),
        ("pets.list-all v2", "pets_list_all_v2"),
        (None, "p0_sub_path_get"),
        ("日本語", "p0_sub_path_get"),
        ("get\x00Thing", "get_thing"),
        ("2factor", "_2factor"),
        ("x" * 100, "x" * 60),
        ("x" * 59 + "YesAndMore", "x" * 59),
    ],
)
def test_t11_a_tool_is_named_after_the_operation_id_or_the_path(operation_id: str | None, name: str) -> None:
    assert names_of(with_operations(operation_id)) == [name]


def test_t11_repeated_names_of_tools_get_numbers() -> None:
    long = "operation" * 8
    names = names_of(with_operations("get", "get", "get_2", "GET", long + "A", long + "B"))
    assert names == ["get", "get_3", "get_2", "get_4", long[:60], f"{long[:58]}_2"]


def test_t11_properties_may_be_called_like_keywords_of_json_schema() -> None:
    names = ["items", "$ref", "type", "properties", "required", "allOf", "a\x00b", "ключ", ""]
    schema = {
        "type": "object",
        "required": ["items"],
        "properties": {name: {"type": "string"} for name in names},
    }
    nested = {"type": "object", "properties": {"nested": schema}}
    tool = tool_of(spec_of(URL, "/x", "post", requestBody=body("application/json", nested)))
    declared = schema_of(tool)["properties"]["nested"]
    assert list(declared["properties"]) == names
    assert declared["required"] == ["items"]
    flat = tool_of(spec_of(URL, "/x", "post", requestBody=body("application/json", schema)))
    assert list(schema_of(flat)["properties"]) == [
        *("items", "ref", "type", "properties", "required", "all_of", "a_b", "body", "body_0")
    ]


def test_t11_a_schema_that_contains_itself_ends() -> None:
    node = {
        "type": "object",
        "properties": {
            "value": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        },
    }
    tool = tool_of(
        spec_of(
            URL,
            "/x",
            "post",
            requestBody=body("application/json", {"$ref": "#/components/schemas/Node"}),
            components={"schemas": {"Node": node}},
        )
    )
    child = schema_of(tool)["properties"]["children"]["items"]
    assert child["properties"]["value"] == {"type": "string"}
    assert child["properties"]["children"]["items"] == {"type": "object", "description": "Another Node."}


@pytest.mark.parametrize("second", [3, 5, 8, 12])
def test_t11_an_all_of_has_the_properties_of_all_its_schemas(second: int) -> None:
    """However deeply they name each other, and in whatever order they are reached."""
    names = [f"p{number}" for number in range(13)]
    schemas: Json = {}
    for number, name in enumerate(names):
        schemas[f"A{number}"] = {
            "allOf": [{"$ref": f"#/components/schemas/A{number + 1}"}],
            "properties": {name: {"type": "string"}, "shared": {"description": name}},
        }
    schemas["A12"] |= {"allOf": [], "required": ["p12"]}
    top = {"allOf": [{"$ref": f"#/components/schemas/A{number}"} for number in (0, second)]}
    spec = spec_of(URL, "/x", "post", requestBody=body("application/json", top))
    declared = schema_of(tool_of(spec | {"components": {"schemas": schemas}}))
    assert list(declared["properties"]) == ["p12", "shared", *reversed(names[:12])]
    assert declared["properties"]["shared"]["description"] == "p0"
    assert declared["required"] == ["p12"]


@pytest.mark.parametrize(
    "schemas",
    [
        {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}},
        {"A": {"allOf": [{"$ref": "#/components/schemas/A"}, {"type": "object"}]}},
        {"A": {"$ref": "other.yaml#/A"}},
        {"A": {"$ref": "#/components/schemas/Missing"}},
        {"A": {"$ref": "#anchor"}},
        {"A": True},
        {"A": {"type": ["nonsense", 7], "enum": "x", "properties": [], "required": 3, "description": {}}},
    ],
)
def test_t11_references_to_nothing_leave_a_parameter_without_a_type(schemas: Json) -> None:
    page = parameter(
        "page", "query", schema={"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}}
    )
    tool = tool_of(spec_of(URL, parameters=[page], components={"schemas": schemas}))
    assert "nonsense" not in json.dumps(schema_of(tool))
    assert set(schema_of(tool)["properties"]["page"]["properties"]) == {"a"}


def test_t11_an_operation_that_cannot_be_read_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    spec = spec_of(URL, "/bad", parameters=[{"$ref": "#/components/parameters/Missing"}])
    spec["paths"]["/worse"] = {"$ref": "#/nowhere"}
    spec["paths"]["/text"] = "not a path"
    spec["paths"]["/good"] = {"get": {"operationId": "good", "parameters": "none", "requestBody": 7}}
    with caplog.at_level(logging.WARNING):
        assert names_of(spec) == ["good"]
    assert "GET /bad is left out" in caplog.text and "leads to nothing" in caplog.text


@pytest.mark.parametrize(
    ("servers", "url"),
    [
        (
            [
                {
                    "url": "https://{region}.example.com/{v}",
                    "variables": {"region": {"default": "eu"}, "v": {"default": 2}},
                }
            ],
            "https://eu.example.com/2",
        ),
        ([{"url": "https://a.example.com"}, {"url": "https://b.example.com"}], "https://a.example.com"),
    ],
)
def test_t11_the_first_server_is_used_with_the_defaults_of_its_variables(servers: Any, url: str) -> None:
    spec = {**with_operations("a"), "servers": servers}
    [tool] = OpenAPIToolset(spec_dict=spec)._tools
    assert tool.endpoint.base_url == url


def test_t11_an_operation_may_have_a_server_of_its_own() -> None:
    tool = tool_of(spec_of(URL, servers=[{"url": "https://files.example.com"}]))
    assert tool.endpoint.base_url == "https://files.example.com"


@pytest.mark.parametrize(
    "url", ["", "/v1", "//host/v1", "ftp://host", "file:///etc/passwd", "https://{open}/", "https://[", 7]
)
def test_t11_a_server_that_is_not_absolute_is_refused_by_name(url: Any) -> None:
    with pytest.raises(ConfigurationError, match="not an absolute http or https URL"):
        OpenAPIToolset(spec_dict=spec_of(url))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "spec_dict or spec_str"),
        ({"spec_str": "{"}, "not valid JSON"),
        ({"spec_str": "[]"}, "list, not an object"),
        ({"spec_str": "[" * 100_000}, "nested too deeply"),
        ({"spec_str": "a: [", "spec_str_type": "yaml"}, "not valid YAML"),
        ({"spec_dict": {"swagger": "2.0"}}, "Convert it to OpenAPI 3"),
    ],
)
def test_t11_what_is_no_document_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        OpenAPIToolset(**arguments)


def test_t11_yaml_may_have_numbers_as_keys_and_dates() -> None:
    text = f"""
openapi: 3.1.0
servers: [{{url: {URL}}}]
paths:
  /x:
    get:
      operationId: listThem
      parameters: [{{name: since, in: query, schema: {{type: string, default: 2020-01-01, enum: [2020-01-01]}}}}]
      responses: {{200: {{description: ok}}}}
"""
    [tool] = OpenAPIToolset(spec_str=text, spec_str_type="yaml")._tools
    assert schema_of(tool)["properties"]["since"] == {"type": "string", "enum": ["2020-01-01"]}


def test_t11_ten_megabytes_are_read_in_seconds_and_declarations_stay_small() -> None:
    """Every schema refers to ten others, so that a full description would have no end."""
    schemas = {
        f"S{number}": {
            "type": "object",
            "description": "x" * 3_000,
            "properties": {
                f"p{i}": {"$ref": f"#/components/schemas/S{(number * 7 + i) % 3000}"} for i in range(10)
            },
        }
        for number in range(3000)
    }
    reference = body("application/json", {"$ref": "#/components/schemas/S1"})
    paths = {f"/p{i}": {"post": {"operationId": f"op{i}", "requestBody": reference}} for i in range(2_000)}
    text = json.dumps(
        {"openapi": "3.0.0", "servers": [{"url": URL}], "paths": paths, "components": {"schemas": schemas}}
    )
    assert len(text) > 10_000_000
    start = time.process_time()
    toolset = OpenAPIToolset(spec_str=text)
    assert len(toolset._tools) == 2_000
    nodes = json.dumps(schema_of(toolset._tools[0])).count('"type"')
    assert time.process_time() - start < 20
    assert nodes <= 500
