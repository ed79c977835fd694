"""Each model request of these tests is recorded, and must be rebuilt from the log and its record (contract M6)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from runtime.artifacts.referenced_artifacts import load_references, positions_of_files
from runtime.context import session_args
from runtime.engine.request_record import (
    RebuiltRequest,
    Record,
    derive,
    rebuild,
    record_request,
)
from runtime.events import Event
from runtime.models.llm_request import LlmRequest
from runtime.models.llm_response import LlmResponse
from runtime.run_config import ModelCall, RunConfig
from runtime.runners import Runner
from runtime.sessions import InMemorySessionService
from runtime.testing.scripted_model import ScriptedModel
from tests.sent_requests import request_as_json


@dataclass
class Sent:
    """A request whose record was made, and what the model received."""

    runner: Runner
    owner: Any
    call: ModelCall
    record: Record
    texts: dict[str, str]
    received: RebuiltRequest


@pytest.fixture(autouse=True)
async def rebuilt_requests(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[list[Sent], None]:
    """Record the requests; at the end of the test rebuild each one and compare it with what its model received."""
    sent: list[Sent] = []
    run_async, generate = Runner.run_async, ScriptedModel.generate_content_async

    async def recorded(runner: Runner, **kwargs: Any) -> AsyncGenerator[Event, None]:
        owner = {key: kwargs[key] for key in ("user_id", "session_id")} | {"app_name": runner.app_name}
        given: RunConfig = kwargs.pop("run_config", None) or RunConfig()

        def note(call: ModelCall) -> None:
            stored: tuple[Record, dict[str, str]] = json.loads(json.dumps(record_request(call)))
            sent.append(
                Sent(runner, owner, call, *stored, request_as_json(call.model, call.config, call.contents))
            )

        config = given if runner._caller else given.model_copy(update={"on_model_call": note})
        async with aclosing(run_async(runner, run_config=config, **kwargs)) as events:
            async for event in events:
                yield event

    async def received(
        model: ScriptedModel, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for one in sent:
            if one.call.config is llm_request.config:
                one.received = request_as_json(llm_request.model, llm_request.config, llm_request.contents)
        async with aclosing(generate(model, llm_request, stream)) as responses:
            async for response in responses:
                yield response

    monkeypatch.setattr(Runner, "run_async", recorded)
    monkeypatch.setattr(ScriptedModel, "generate_content_async", received)
    yield sent
    for one in sent:
        if isinstance(
            one.runner.session_service, InMemorySessionService
        ):  # Rows of a database are gone by now.
            assert await _rebuilt(one) == one.received


async def _rebuilt(one: Sent) -> RebuiltRequest:
    session = await one.runner.session_service.get_session(**one.owner)
    assert session is not None
    if one.call.inside:  # An agent that ran as a tool: nothing of its session is in the log.
        return rebuild(one.record, [], one.texts)
    contents = derive(one.record, session.events[: one.record["seq"]])
    service, files = one.runner.artifact_service, positions_of_files(contents)
    return rebuild(
        one.record, await load_references(service, session_args(session), contents, files), one.texts
    )
