"""Contract T11: each argument of a call arrives at its place, in the style that the document names."""

from __future__ import annotations

import json
from email import message_from_bytes
from email.policy import HTTP
from typing import Any

import pytest

from runtime.tools.openapi_tool.openapi_spec_parser.rest_api_tool import RestApiTool
from runtime.trace_context import trace_context
from tests.echo_server import EchoServer, Received
from tests.unit.runtime.openapi.specs import body, parameter, schema_of, spec_of, tool_of

COLORS = ["blue", "black"]
RGB = {"R": 100, "G": 200}


async def send(server: EchoServer, tool: RestApiTool, **args: Any) -> Received:
    before = len(server.received)
    result = await tool.run_async(args=args, tool_context=None)
    assert len(server.received) == before + 1, result
    return server.last


@pytest.mark.parametrize(
    ("style", "explode", "value", "target"),
    [
        ("simple", False, "a/b ü", "/things/a%2Fb%20%C3%BC"),
        ("simple", False, True, "/things/true"),
        ("simple", False, COLORS, "/things/blue,black"),
        ("simple", False, RGB, "/things/R,100,G,200"),
        ("simple", True, RGB, "/things/R=100,G=200"),
        ("label", False, "blue", "/things/.blue"),
        ("label", False, COLORS, "/things/.blue,black"),
        ("label", True, COLORS, "/things/.blue.black"),
        ("label", True, RGB, "/things/.R=100.G=200"),
        ("matrix", False, "blue", "/things/;color=blue"),
        ("matrix", False, COLORS, "/things/;color=blue,black"),
        ("matrix", True, COLORS, "/things/;color=blue;color=black"),
        ("matrix", False, RGB, "/things/;color=R,100,G,200"),
        ("matrix", True, RGB, "/things/;R=100;G=200"),
    ],
)
async def test_t11_a_value_in_a_path_is_written_in_the_style_of_its_parameter(
    server: EchoServer, style: str, explode: bool, value: Any, target: str
) -> None:
    spec = spec_of(
        server.url, "/things/{color}", parameters=[parameter("color", "path", style=style, explode=explode)]
    )
    assert (await send(server, tool_of(spec), color=value)).target == target


@pytest.mark.parametrize(
    ("style", "explode", "value", "query"),
    [
        (None, None, "a&b=c ü", "color=a%26b%3Dc%20%C3%BC"),
        (None, None, COLORS, "color=blue&color=black"),
        (None, None, [], ""),
        (None, None, False, "color=false"),
        ("form", False, COLORS, "color=blue,black"),
        ("form", True, RGB, "R=100&G=200"),
        ("form", False, RGB, "color=R,100,G,200"),
        ("spaceDelimited", False, COLORS, "color=blue%20black"),
        ("pipeDelimited", False, COLORS, "color=blue%7Cblack"),
        ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200"),
        ("deepObject", True, {"in": {"x": 1}}, "color%5Bin%5D=%7B%22x%22%3A%201%7D"),
    ],
)
async def test_t11_a_value_in_a_query_is_written_in_the_style_of_its_parameter(
    server: EchoServer, style: str | None, explode: bool | None, value: Any, query: str
) -> None:
    given = {key: item for key, item in (("style", style), ("explode", explode)) if item is not None}
    spec = spec_of(server.url, parameters=[parameter("color", "query", **given)])
    assert (await send(server, tool_of(spec), color=value)).target.partition("?")[2] == query


async def test_t11_headers_and_cookies_are_sent_except_those_that_the_client_writes(
    server: EchoServer,
) -> None:
    spec = spec_of(
        server.url,
        parameters=[
            parameter("X-Trace", "header"),
            parameter("X-Many", "header", explode=True),
            parameter("Accept", "header"),
            parameter("Host", "header"),
            parameter("session", "cookie"),
            parameter("colors", "cookie", explode=False),
        ],
    )
    tool = tool_of(spec)
    assert list(schema_of(tool)["properties"]) == ["x_trace", "x_many", "session", "colors"]
    got = await send(server, tool, x_trace=7, x_many=RGB, session="a; b=c", colors=COLORS)
    assert got.headers["x-trace"] == "7"
    assert got.headers["x-many"] == "R=100,G=200"
    assert got.headers["cookie"] == "session=a%3B%20b%3Dc; colors=blue,black"


async def test_t11_a_json_body_has_the_services_names_and_only_what_was_given(server: EchoServer) -> None:
    properties = {"petName": {"type": "string"}, "class": {"type": "string"}, "tags": {"type": "array"}}
    schema = {"type": "object", "required": ["petName"], "properties": properties}
    spec = spec_of(
        server.url,
        "/pets/{petName}",
        "post",
        parameters=[parameter("petName", "path")],
        requestBody=body("application/json", schema, required=True),
    )
    tool = tool_of(spec)
    assert schema_of(tool)["required"] == ["pet_name", "pet_name_0"]
    got = await send(server, tool, pet_name="in path", pet_name_0="Ümläut", param_class="A", unknown=1)
    assert got.target == "/pets/in%20path"
    assert got.headers["content-type"] == "application/json"
    assert json.loads(got.body) == {"petName": "Ümläut", "class": "A"}


@pytest.mark.parametrize(
    ("schema", "args", "sent"),
    [
        ({"type": "array", "items": {"type": "integer"}}, {"array": [1, 2]}, [1, 2]),
        ({"oneOf": [{"type": "string"}, {"type": "object"}]}, {"body": {"a": None}}, {"a": None}),
        ({"type": "object", "additionalProperties": True}, {"body": {"any": 1}}, {"any": 1}),
        (
            {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
            {"a": 1, "b": 2},
            {"a": 1, "b": 2},
        ),
        ({"type": "string"}, {"body": "text"}, "text"),
    ],
)
async def test_t11_a_json_body_may_be_a_value_of_any_type(
    server: EchoServer, schema: Any, args: Any, sent: Any
) -> None:
    spec = spec_of(server.url, "/x", "put", requestBody=body("application/merge-patch+json", schema))
    got = await send(server, tool_of(spec), **args)
    assert got.headers["content-type"] == "application/merge-patch+json"
    assert json.loads(got.body) == sent


async def test_t11_no_body_is_sent_without_arguments_unless_the_document_requires_it(
    server: EchoServer,
) -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    optional = await send(
        server, tool_of(spec_of(server.url, "/x", "post", requestBody=body("application/json", schema)))
    )
    assert optional.body == b"" and "content-type" not in optional.headers
    required = spec_of(server.url, "/x", "post", requestBody=body("application/json", schema, required=True))
    assert (await send(server, tool_of(required))).body == b"{}"


async def test_t11_a_form_is_encoded_in_the_styles_of_its_fields(server: EchoServer) -> None:
    form = body(
        "application/x-www-form-urlencoded",
        {"type": "object", "properties": {"a": {}, "list": {}, "nested": {}, "deep": {}}},
    )
    form["content"]["application/x-www-form-urlencoded"]["encoding"] = {
        "deep": {"style": "deepObject", "explode": True}
    }
    got = await send(
        server,
        tool_of(spec_of(server.url, "/x", "post", requestBody=form)),
        a="x&y",
        list=[1, 2],
        nested={"k": "v"},
        deep={"k": "v"},
    )
    assert got.headers["content-type"] == "application/x-www-form-urlencoded"
    assert got.body == b"a=x%26y&list=1&list=2&nested=%7B%22k%22%3A%20%22v%22%7D&deep%5Bk%5D=v"


async def test_t11_a_multipart_form_has_a_part_for_each_value(server: EchoServer) -> None:
    properties = {
        "title": {"type": "string"},
        "file": {"type": "string", "format": "binary"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "meta": {"type": "object"},
    }
    spec = spec_of(
        server.url,
        "/x",
        "post",
        requestBody=body("multipart/form-data", {"type": "object", "properties": properties}),
    )
    got = await send(server, tool_of(spec), title="Tür", file="a\nb", tags=["x", "y"], meta={"k": 1})
    head = f"Content-Type: {got.headers['content-type']}\r\n\r\n".encode()
    parts = list(message_from_bytes(head + got.body, policy=HTTP).iter_parts())
    names = [part.get_param("name", header="content-disposition") for part in parts]
    assert names == ["title", "file", "tags", "tags", "meta"]
    contents = [part.get_payload(decode=True) for part in parts]
    assert contents == ["Tür".encode(), b"a\nb", b"x", b"y", b'{"k": 1}']
    assert [part.get_filename() for part in parts] == [None, "file", None, None, None]
    assert parts[4].get_content_type() == "application/json"


@pytest.mark.parametrize("given", [{}, {"tags": []}])
async def test_t11_a_multipart_form_without_a_value_is_not_sent(
    server: EchoServer, given: dict[str, Any]
) -> None:
    form = {"multipart/form-data": {"schema": {"type": "object", "properties": {"tags": {"type": "array"}}}}}
    spec = spec_of(server.url, "/x", "post", requestBody={"content": form, "required": True})
    got = await send(server, tool_of(spec), **given)
    assert got.body == b"" and "content-type" not in got.headers


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/octet-stream"])
async def test_t11_a_body_of_another_media_type_is_the_text_that_the_model_writes(
    server: EchoServer, media_type: str
) -> None:
    schema = {"type": "object", "properties": {"a": {}}} if media_type == "application/xml" else {}
    tool = tool_of(spec_of(server.url, "/x", "post", requestBody=body(media_type, schema)))
    assert schema_of(tool)["properties"]["body"]["type"] == "string"
    got = await send(server, tool, body="<a>ü</a>")
    assert (got.headers["content-type"], got.body.decode()) == (media_type, "<a>ü</a>")


async def test_t11_parameters_of_the_path_are_inherited_and_overridden(server: EchoServer) -> None:
    spec = spec_of(
        server.url, "/x", parameters=[parameter("q", "query", schema={"default": "own"}, required=True)]
    )
    spec["paths"]["/x"]["parameters"] = [
        {"$ref": "#/components/parameters/Page"},
        parameter("q", "query", schema={"default": "inherited"}),
    ]
    spec["components"] = {"parameters": {"Page": parameter("pageSize", "query", schema={"type": "integer"})}}
    tool = tool_of(spec)
    assert list(schema_of(tool)["properties"]) == ["q", "page_size"]
    assert (await send(server, tool, page_size=5)).query == [("q", "own"), ("pageSize", "5")]


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({}, "mandatory input parameters are not present: thing_id"),
        ({"thing_id": ".."}, "something else"),
        ({"thing_id": ""}, "something else"),
    ],
)
async def test_t11_arguments_that_make_no_request_are_an_error_for_the_model(
    server: EchoServer, args: Any, word: str
) -> None:
    tool = tool_of(spec_of(server.url, "/things/{thingId}/parts"))
    assert word in (await tool.run_async(args=args, tool_context=None))["error"]
    assert server.received == []


async def test_t11_a_header_cannot_be_smuggled_in(server: EchoServer) -> None:
    tool = tool_of(spec_of(server.url, parameters=[parameter("X-A", "header")]))
    result = await tool.run_async(args={"x_a": "1\r\nX-Evil: 2"}, tool_context=None)
    assert "failed" in result["error"] and server.received == []


@pytest.mark.parametrize("method", ["get", "put", "post", "delete", "options", "head", "patch", "trace"])
async def test_t11_an_operation_of_any_method_can_be_called(server: EchoServer, method: str) -> None:
    got = await send(server, tool_of(spec_of(server.url, "/x", method)))
    assert got.method == method.upper()


async def test_t11_query_and_fragment_of_the_document_stay_apart_from_the_arguments(
    server: EchoServer,
) -> None:
    spec = spec_of(f"{server.url}/v1/?key=1", "/x?mode=fast#second", parameters=[parameter("q", "query")])
    assert (await send(server, tool_of(spec), q="2")).target == "/v1/x?key=1&mode=fast&q=2"


async def test_t11_names_may_stay_as_the_document_has_them(server: EchoServer) -> None:
    tool = tool_of(
        spec_of(server.url, parameters=[parameter("pageSize", "query")]), preserve_property_names=True
    )
    assert (await send(server, tool, pageSize=1)).query == [("pageSize", "1")]


async def test_t11_headers_of_the_author_are_sent(server: EchoServer) -> None:
    tool = tool_of(spec_of(server.url))
    tool.set_default_headers({"X-Site": "shop"})
    with trace_context("00-0a-0b-01"):
        sent = (await send(server, tool)).headers
    assert (sent["x-site"], sent["traceparent"]) == ("shop", "00-0a-0b-01")
    assert "traceparent" not in (await send(server, tool)).headers
