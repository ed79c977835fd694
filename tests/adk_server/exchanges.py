"""Requests that google-adk's server and the site get, and their answers without ids and times."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.adk_server.clerk import APP

Answers = dict[str, Any]
Send = Callable[[str, str, Any], Awaitable[tuple[int, Any]]]
"""Send a request by method, address and body; return the status and the JSON, a list for a stream."""

OWN_FIELDS = frozenset(
    {
        "nodeInfo",  # google-adk gives it to all events, the runtime to those of workflows
        "canonicalUri",
        "customMetadata",
    }
)
"""Fields with which a server tells of itself."""
TIMES = frozenset({"timestamp", "lastUpdateTime", "createTime", "creation_timestamp"})
_ID = re.compile(r"(?:adk-|[ep]-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")


@dataclass(frozen=True)
class Exchange:
    """A request; `body` may depend on the earlier answers, by name."""

    name: str
    method: str
    address: str
    body: Any = None


SESSIONS = f"/apps/{APP}/users/ada/sessions"
S1 = f"{SESSIONS}/s1"
NOTES = f"{S1}/artifacts/notes/today.txt"
DEV = f"/dev/apps/{APP}"
RESULT = f"{APP}_manners_1777885931.5"
METRIC, THRESHOLD = "response_match_score", 0.8
EVALUATED = {"greeting": 1.0, "parting": 0.25, "broken": None}
"""Scores of the cases in the result; None of a case without a score."""


def ask(*parts: Any, session: str = "s1", **fields: Any) -> dict[str, Any]:
    """Return the body of a run."""
    message = {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}
    return {"appName": APP, "userId": "ada", "sessionId": session, "newMessage": message, **fields}


def answer(
    exchange: str, name: str, response: dict[str, Any], session: str = "s1"
) -> Callable[[Answers], Any]:
    """Return the body of a run that answers the last call with this name of an earlier answer."""

    def body(answers: Answers) -> Any:
        calls = [
            part["functionCall"]
            for event in answers[exchange]
            for part in event.get("content", {}).get("parts", [])
            if part.get("functionCall", {}).get("name") == name
        ]
        part = {"functionResponse": {"id": calls[-1]["id"], "name": name, "response": response}}
        return ask(part, session=session)

    return body


def new_set(set_id: str) -> dict[str, Any]:
    """Return the body with which adk-web creates an eval set."""
    return {"eval_set": {"eval_set_id": set_id, "eval_cases": []}}


def as_case(eval_id: str, session: str = "s1") -> dict[str, Any]:
    """Return the body with which adk-web adds a session to an eval set."""
    return {"evalId": eval_id, "sessionId": session, "userId": "ada"}


WRITTEN = f"{DEV}/eval_sets/written"
EDITED = {
    "evalId": "notes",
    "conversation": [
        {
            "invocationId": "e-1",
            "userContent": {"role": "user", "parts": [{"text": "Hi"}]},
            "finalResponse": {"role": "model", "parts": [{"text": "Hello"}]},
        }
    ],
    "creationTimestamp": 1777885931.5,
}
SAID = {"author": "user", "content": {"role": "user", "parts": [{"text": "Hi"}]}, "invocationId": "e-1"}
ANSWERED = {"author": APP, "content": {"role": "model", "parts": [{"text": "Hello"}]}, "invocationId": "e-1"}
EXCHANGES = (
    Exchange("apps", "GET", "/list-apps"),
    Exchange("apps in detail", "GET", "/list-apps?detailed=true"),
    Exchange("no session", "GET", S1),
    Exchange("no sessions", "GET", SESSIONS),
    Exchange("create", "POST", SESSIONS, {"sessionId": "s1", "state": {"a": 1, "user:b": [2], "temp:c": 3}}),
    Exchange("create again", "POST", SESSIONS, {"sessionId": "s1"}),
    Exchange("create with id", "POST", f"{SESSIONS}/s2", {"colour": "red"}),
    Exchange("create with id again", "POST", f"{SESSIONS}/s2"),
    Exchange("create without id", "POST", SESSIONS),
    Exchange("create in snake case", "POST", SESSIONS, {"session_id": "s3"}),
    Exchange("create with a state that is none", "POST", SESSIONS, {"state": 1}),
    Exchange("create from a list", "POST", SESSIONS, []),
    Exchange("create from a text", "POST", SESSIONS, "s1"),
    Exchange("create with id from a list", "POST", f"{SESSIONS}/s9", []),
    Exchange("restore", "POST", SESSIONS, {"sessionId": "s4", "events": [SAID, ANSWERED], "state": {"x": 1}}),
    Exchange("restore actions", "POST", SESSIONS, {"events": [{**SAID, "actions": {"escalate": True}}]}),
    Exchange("restore waiting calls", "POST", SESSIONS, {"events": [{**SAID, "longRunningToolIds": ["c"]}]}),
    Exchange("get restored", "GET", f"{SESSIONS}/s4"),
    Exchange("change state", "PATCH", S1, {"stateDelta": {"a": None, "d": {"e": 1}}}),
    Exchange("change nothing", "PATCH", S1, {}),
    Exchange("change no session", "PATCH", f"{SESSIONS}/none", {"stateDelta": {}}),
    Exchange("run", "POST", "/run", ask("Good morning")),
    Exchange("run with state", "POST", "/run", ask("And now", stateDelta={"mood": "good"})),
    Exchange("run in no session", "POST", "/run", ask("Hi", session="none")),
    Exchange("run without fields", "POST", "/run", {}),
    Exchange("stream", "POST", "/run_sse", ask("one two three", streaming=True)),
    Exchange("stream whole", "POST", "/run_sse", ask("one two three")),
    Exchange("stream in no session", "POST", "/run_sse", ask("Hi", session="none")),
    Exchange("note", "POST", "/run_sse", ask('call note {"text": "buy milk"}')),
    Exchange("note by run", "POST", "/run", ask('call note {"text": "buy tea"}')),
    Exchange("create for a confirmation", "POST", f"{SESSIONS}/s5"),
    Exchange("confirmation", "POST", "/run", ask('call pay {"amount": 5}', session="s5")),
    Exchange(
        "confirm",
        "POST",
        "/run",
        answer("confirmation", "adk_request_confirmation", {"confirmed": True}, session="s5"),
    ),
    Exchange("long-running", "POST", "/run", ask('call ask_manager {"question": "May I?"}')),
    Exchange("answer", "POST", "/run", answer("long-running", "ask_manager", {"answer": "Yes"})),
    Exchange("files", "GET", f"{S1}/artifacts"),
    Exchange("files of no session", "GET", f"{SESSIONS}/none/artifacts"),
    Exchange("versions", "GET", f"{NOTES}/versions"),
    Exchange("file", "GET", NOTES),
    Exchange("file by query", "GET", f"{NOTES}?version=0"),
    Exchange("file by version", "GET", f"{NOTES}/versions/0"),
    Exchange("newest file", "GET", f"{NOTES}/versions/latest"),
    Exchange("no version", "GET", f"{NOTES}/versions/7"),
    Exchange("version that is none", "GET", f"{NOTES}/versions/x"),
    Exchange("no file", "GET", f"{S1}/artifacts/none.txt"),
    Exchange("metadata", "GET", f"{NOTES}/versions/metadata"),
    Exchange("metadata of a version", "GET", f"{NOTES}/versions/1/metadata"),
    Exchange("remember", "PATCH", f"/apps/{APP}/users/ada/memory", {"sessionId": "s1"}),
    Exchange("remember no session", "PATCH", f"/apps/{APP}/users/ada/memory", {"sessionId": "none"}),
    Exchange("remember nothing", "PATCH", f"/apps/{APP}/users/ada/memory", {}),
    Exchange("delete", "DELETE", f"{SESSIONS}/s2"),
    Exchange("delete again", "DELETE", f"{SESSIONS}/s2"),
    Exchange("get deleted", "GET", f"{SESSIONS}/s2"),
    Exchange("create deleted", "POST", f"{SESSIONS}/s2"),
    Exchange("eval sets", "GET", f"{DEV}/eval_sets"),
    Exchange("evals", "GET", f"{DEV}/eval_sets/manners/evals"),
    Exchange("evals of no set", "GET", f"{DEV}/eval_sets/none/evals"),
    Exchange("eval", "GET", f"{DEV}/eval_sets/manners/evals/greeting"),
    Exchange("no eval", "GET", f"{DEV}/eval_sets/manners/evals/none"),
    Exchange("eval of no set", "GET", f"{DEV}/eval_sets/none/evals/greeting"),
    Exchange("eval results", "GET", f"{DEV}/eval_results"),
    Exchange("eval result", "GET", f"{DEV}/eval_results/{RESULT}"),
    Exchange("no eval result", "GET", f"{DEV}/eval_results/none"),
    Exchange("create an eval set", "POST", f"{DEV}/eval-sets", new_set("written")),
    Exchange("create an eval set again", "POST", f"{DEV}/eval-sets", new_set("written")),
    Exchange("create an eval set outside", "POST", f"{DEV}/eval-sets", new_set("../written")),
    Exchange("create an eval set without an id", "POST", f"{DEV}/eval-sets", {}),
    Exchange("eval sets with the new one", "GET", f"{DEV}/eval_sets"),
    Exchange("evals of the new set", "GET", f"{WRITTEN}/evals"),
    Exchange("add a session", "POST", f"{WRITTEN}/add_session", as_case("notes")),
    Exchange("add a session again", "POST", f"{WRITTEN}/add_session", as_case("notes")),
    Exchange("add a second session", "POST", f"{WRITTEN}/add_session", as_case("more")),
    Exchange("add no session", "POST", f"{WRITTEN}/add_session", as_case("none", session="none")),
    Exchange("add a session to no set", "POST", f"{DEV}/eval_sets/none/add_session", as_case("notes")),
    Exchange("add without fields", "POST", f"{WRITTEN}/add_session", {}),
    Exchange("evals with the added", "GET", f"{WRITTEN}/evals"),
    Exchange("edit an eval", "PUT", f"{WRITTEN}/evals/notes", EDITED),
    Exchange("edited eval", "GET", f"{WRITTEN}/evals/notes"),
    Exchange("edit no eval", "PUT", f"{WRITTEN}/evals/none", {**EDITED, "evalId": "none"}),
    Exchange("edit an eval of no set", "PUT", f"{DEV}/eval_sets/none/evals/notes", EDITED),
    Exchange("edit under another id", "PUT", f"{WRITTEN}/evals/notes", {**EDITED, "evalId": "more"}),
    Exchange("edit to no conversation", "PUT", f"{WRITTEN}/evals/notes", {"evalId": "notes"}),
    Exchange("run no eval set", "POST", f"{DEV}/eval-sets/none/run", {"eval_metrics": []}),
    Exchange("run without metrics", "POST", f"{DEV}/eval-sets/written/run", {}),
    Exchange("delete an eval", "DELETE", f"{WRITTEN}/evals/more"),
    Exchange("delete an eval again", "DELETE", f"{WRITTEN}/evals/more"),
    Exchange("delete an eval of no set", "DELETE", f"{DEV}/eval_sets/none/evals/more"),
    Exchange("evals without the deleted", "GET", f"{WRITTEN}/evals"),
    Exchange("whole session", "GET", S1),
    Exchange("sessions", "GET", SESSIONS),
)


async def exchange_all(send: Send) -> dict[str, Any]:
    """Send all requests in order; return the status and the comparable JSON of each by name."""
    answers: Answers = {}
    outcome: dict[str, Any] = {}
    for one in EXCHANGES:
        body = one.body(answers) if callable(one.body) else one.body
        status, answers[one.name] = await send(one.method, one.address, body)
        is_refused = status >= 400  # the sentence is the server's own
        outcome[one.name] = [status] if is_refused else [status, _comparable(answers[one.name])]
    return outcome


def _comparable(value: Any) -> Any:
    """Return an answer with numbered ids, without times, and a list of sessions in the order of their ids."""
    known: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return known.setdefault(found[0], f"id {len(known) + 1}")

    if isinstance(value, list) and all(isinstance(one, dict) and "lastUpdateTime" in one for one in value):
        value = sorted(value, key=lambda one: len(one["id"]) * [one["id"]])
    return json.loads(_ID.sub(number, json.dumps(_plain(value), sort_keys=True)))


def _plain(value: Any) -> Any:
    """Return an answer without times, and without partial events: a server decides how it cuts a text."""
    if isinstance(value, list):
        return [_plain(one) for one in value if not (isinstance(one, dict) and one.get("partial"))]
    if isinstance(value, dict):
        return {
            key: "time" if key in TIMES else _plain(one)
            for key, one in value.items()
            if key not in OWN_FIELDS and not (key == "longRunningToolIds" and not one)
        }
    return value
