"""The app `words` of the tests of tokens: messages to it, and answers that took so many tokens."""

from __future__ import annotations

from django.contrib.auth.models import User

from runtime import types
from runtime.models.llm_response import LlmResponse
from sessions_app import use_cases
from sessions_app.base import actors
from sessions_app.base.actors import UserActor
from sessions_app.invocations.worker import worker
from sessions_app.models import Invocation, Session
from tests.fakes import text_content


def using(tokens: int) -> LlmResponse:
    """Return an answer that took so many tokens."""
    usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens, total_token_count=tokens)
    return LlmResponse(content=text_content("Hm."), usage_metadata=usage, model_version="gemini-9")


async def ask(
    person: User, session: Session | None = None, client_id: str = "m1", *, by: UserActor | None = None
) -> tuple[str, str]:
    """Send a message, in a new session unless one is given; return status and error of its invocation."""
    session = session or await use_cases.create_session(person, "words")
    await use_cases.send_message(by or actors.person(person), session.pk, client_id, "hello")
    await worker().wait_until_idle()
    row = await Invocation.objects.aget(session=session, client_id=client_id)
    return row.status, row.error_message
