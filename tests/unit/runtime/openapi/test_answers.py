"""Contract T11: answers, errors and limits of a service, as the model reads them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

from runtime.tools.openapi_tool import address_guard
from runtime.tools.openapi_tool.address_guard import is_internal
from tests.echo_server import EchoServer, Reply
from tests.unit.runtime.openapi.specs import parameter, spec_of, tool_of

JSON = {"Content-Type": "application/json"}


async def result_of(server: EchoServer, reply: Reply, **options: Any) -> Any:
    server.routes["/things"] = lambda _: reply
    return await tool_of(spec_of(server.url), **options).run_async(args={}, tool_context=None)


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (Reply(body=b'{"a": [1]}'), {"a": [1]}),
        (Reply(body=b"[1, 2]"), [1, 2]),
        (Reply(204, b""), {"text": ""}),
        (Reply(body="grüß".encode(), headers={"Content-Type": "text/plain"}), {"text": "grüß"}),
        (Reply(body=b"\xff\xfe", headers={"Content-Type": "text/plain"}), {"text": "\ufffd\ufffd"}),
        (
            Reply(body=b"\x89PNG", headers={"Content-Type": "image/png"}),
            {"text": "(4 bytes of image/png, not shown)"},
        ),
        (Reply(body=b'{"broken": '), {"text": '{"broken": '}),
        (Reply(body=b"[" * 5000 + b"]" * 5000), {"text": "[" * 5000 + "]" * 5000}),
    ],
)
async def test_t11_an_answer_is_json_or_text(server: EchoServer, reply: Reply, result: Any) -> None:
    assert await result_of(server, reply) == result


@pytest.mark.parametrize("status", [400, 404, 422, 429, 500, 503])
async def test_t11_an_error_of_the_service_is_a_result_with_status_and_the_beginning_of_the_body(
    server: EchoServer, status: int
) -> None:
    error = (await result_of(server, Reply(status, b"no such thing " + b"x" * 50_000, JSON)))["error"]
    assert f"Status Code: {status}" in error and "no such thing" in error
    assert len(error) < 5_000


async def test_t11_a_large_answer_is_not_read_to_its_end(server: EchoServer) -> None:
    error = (await result_of(server, Reply(body=b'["' + b"y" * 60_000 + b'"]'), max_response_bytes=10_000))[
        "error"
    ]
    assert "larger than 10000 bytes" in error and '["yyy' in error and len(error) < 5_000


async def test_t11_a_slow_service_runs_into_the_timeout(server: EchoServer) -> None:
    server.routes["/things"] = server.hold
    result = await tool_of(spec_of(server.url), timeout=0.2).run_async(args={}, tool_context=None)
    assert "did not answer within 0.2 s" in result["error"]


async def test_t11_a_cancelled_call_ends_at_once(server: EchoServer) -> None:
    server.routes["/things"] = server.hold
    call = asyncio.create_task(tool_of(spec_of(server.url)).run_async(args={}, tool_context=None))
    await asyncio.to_thread(server.arrived.wait, 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_t11_a_server_that_is_away_is_an_error_for_the_model() -> None:
    with EchoServer() as gone:
        spec = spec_of(gone.url)
    assert "failed" in (await tool_of(spec).run_async(args={}, tool_context=None))["error"]


async def test_t11_a_redirect_on_the_same_server_is_followed(server: EchoServer) -> None:
    redirect = Reply(307, headers={"Location": "/elsewhere"})
    assert (await result_of(server, redirect))["target"] == "/elsewhere"


async def test_t11_a_redirect_to_another_server_is_not_followed(server: EchoServer) -> None:
    with EchoServer() as other:
        redirect = Reply(302, headers={"Location": f"{other.url}/steal"})
        assert "redirects to another server" in (await result_of(server, redirect))["error"]
        assert other.received == []


async def test_t11_redirects_in_a_circle_end(server: EchoServer) -> None:
    assert (
        "more than 5 times" in (await result_of(server, Reply(302, headers={"Location": "/things"})))["error"]
    )
    assert len(server.received) == 5


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"],
)
async def test_t11_internal_addresses_are_refused_in_every_spelling(server: EchoServer, host: str) -> None:
    tool = tool_of(spec_of(f"http://{host}:{server.port}"), allow_private_network_access=False)
    assert "internal network" in (await tool.run_async(args={}, tool_context=None))["error"]
    assert server.received == []


@pytest.mark.parametrize(
    ("address", "internal"),
    [
        ("169.254.169.254", True),
        ("10.1.2.3", True),
        ("172.16.0.1", True),
        ("192.168.1.1", True),
        ("100.64.0.1", True),
        ("224.0.0.1", True),
        ("255.255.255.255", True),
        ("fd00:ec2::254", True),
        ("fe80::1%1", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:7f00:1::", True),
        ("fec0::1", True),
        ("64:ff9b:1::7f00:1", True),
        ("::7f00:1", True),
        ("8.8.8.8", False),
        ("64:ff9b::808:808", False),
        ("2606:4700:4700::1111", False),
    ],
)
def test_t11_addresses_that_are_not_public_count_as_internal(address: str, internal: bool) -> None:
    assert is_internal(address) is internal


async def test_t11_a_redirect_resolves_and_checks_the_host_again(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host answers with a public address first, and with an internal one when the redirect is followed."""
    answers = iter([False, True])
    monkeypatch.setattr(address_guard, "is_internal", lambda _: next(answers))
    redirect = Reply(307, headers={"Location": "/admin"})
    result = await result_of(server, redirect, allow_private_network_access=False)
    assert "internal network" in result["error"]
    assert [got.path for got in server.received] == ["/things"]


async def test_t11_the_connection_goes_to_the_checked_address_under_the_hosts_name(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_guard, "is_internal", lambda _: False)
    tool = tool_of(spec_of(f"http://localhost:{server.port}"), allow_private_network_access=False)
    assert (await tool.run_async(args={}, tool_context=None))["target"] == "/things"
    assert server.last.headers["host"] == f"localhost:{server.port}"


async def test_t11_the_authors_own_client_is_guarded_too(server: EchoServer) -> None:
    tool = tool_of(
        spec_of(server.url), allow_private_network_access=False, httpx_client_factory=httpx2.AsyncClient
    )
    assert "internal network" in (await tool.run_async(args={}, tool_context=None))["error"]
    assert server.received == []


async def test_t11_the_authors_own_client_sends_the_requests() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"asked": str(request.url)})

    tool = tool_of(
        spec_of("https://api.example.com", parameters=[parameter("q", "query")]),
        httpx_client_factory=lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(answer)),
    )
    result = await tool.run_async(args={"q": "ü"}, tool_context=None)
    assert json.dumps(result) == json.dumps({"asked": "https://api.example.com/things?q=%C3%BC"})
