"""Conformance: each operation keeps to its OpenAPI document for whatever is sent, and never fails with 500.

A refused request is told its invalid fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
import schemathesis
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from runtime.agents import LlmAgent
from runtime.apps import App
from sessions_app.api.adk.adk_api import adk_api
from sessions_app.api.site_api import site_api
from sessions_app.api.streaming_api import StreamingApi
from sessions_app.process import threads
from tests.fakes import ScriptedModel
from tests.integration.access import APP, make_things
from tests.integration.api.conftest import Program, body_of, make_key
from tests.served_agents import Served

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
EXAMPLES = 4
STREAMED = ["streams"]
"""Tags of the operations that Django's handler does not serve."""


def operations_of(api: StreamingApi) -> Iterator[Any]:
    """Yield the operations that the document of the API describes, without its streams."""
    document = json.loads(json.dumps(api.get_openapi_schema(), default=str))
    for item in document["paths"].values():
        for method in [method for method, operation in item.items() if operation["tags"] == STREAMED]:
            del item[method]
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        if isinstance(found, Ok):
            yield found.ok()


OPERATIONS = [*operations_of(site_api), *operations_of(adk_api)]


@pytest.fixture
def program(person: User, background_end: None, served: Served, configure: Any) -> Program:
    configure(
        max_frames_per_user=0,
        max_frames_per_address=0,
        max_new_sessions_per_user=0,
        max_new_sessions_per_address=0,
    )
    app = App(name=APP, root_agent=LlmAgent(name=APP, model=ScriptedModel(rule=lambda request: "ok")))
    served(app)
    return Program(make_key(person))


async def send(program: Program, case: Any, path: str) -> tuple[Any, bytes]:
    query = urlencode(case.query or {}, doseq=True, errors="replace")
    content_type = case.media_type or "application/json"
    data = case.body if isinstance(case.body, bytes) else json.dumps(case.body, default=str).encode()
    has_body = isinstance(case.body, str | dict | list | int | float | bool | bytes | None)
    response = await program.generic(
        case.method,
        f"{path}?{query}",
        data if has_body else b"",
        content_type=content_type,
        headers={name: str(value) for name, value in (case.headers or {}).items() if str(value).isascii()},
    )
    return response, await body_of(response)


# Runs that an earlier request has started use `random` in another thread, which Hypothesis takes for a strategy's use.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
def test_an_operation_keeps_to_the_document(program: Program, person: User, method: str) -> None:
    operations = [operation for operation in OPERATIONS if operation.method == method]
    assert operations
    for operation in operations:
        statuses = statuses_of(operation, program, person)
        assert statuses and max(statuses) < 500, operation.label
        assert set(statuses) != {401}, operation.label  # an earlier request has not ended the key


def statuses_of(operation: Any, program: Program, person: User) -> list[int]:
    """Send requests to the operation, and check the answers; return their statuses."""
    things = make_things(person)
    known = {
        "session_id": things.session.key if operation.path.startswith("/adk/") else things.session.pk,
        "app_name": APP,
        "user_id": person.username,
        "artifact_name": "notes.txt",
        "version_id": 0,
        "run_id": things.rows["invocation"].invocation_id,  # type: ignore[attr-defined]
        "job_id": things.rows["tooljob"].pk,
        "schedule_id": things.rows["scheduledtask"].pk,
        "approval_id": things.rows["answerrequest"].pk,
        "seq": 1,
        "name": "notes.txt",
    }

    statuses: list[int] = []

    @seed(12)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        odd = case.path_parameters or {}
        for case.path_parameters in (odd, {name: str(known.get(name, odd[name])) for name in odd}):
            response, body = threads.run(send(program, case, case.formatted_path))
            statuses.append(response.status_code)
            told = Response(
                response.status_code,
                {name: [value] for name, value in response.items()},
                body,
                requests.Request(case.method, "http://testserver/").prepare(),
                0.1,
                verify=False,
            )
            case.validate_response(told, checks=CHECKS)
            if response.status_code in (400, 422):
                assert json.loads(body)["errors"], "the refusal names no field"

    run()
    return statuses
