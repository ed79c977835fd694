"""Questions at the terminal: what a person enters for a number of an approval."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from sessions_app import use_cases
from sessions_app.contrib.terminal.questions import Asker, answer_call
from sessions_app.invocations.answers.form_answers import ConfirmationForm
from sessions_app.rendering.blocks import ConfirmationRequestBlock
from sessions_app.rendering.call_words import CallWords
from sessions_app.rendering.questions import Field


@pytest.mark.parametrize("odd", ["²", "nan", "-inf", "9" * 400, "9" * 5000, "x"])
async def test_a_number_is_asked_for_until_it_is_one(monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    entered, shown, given = iter(["y", odd, "12"]), list[str](), list[Any]()

    async def ask(question: str) -> str:
        return next(entered)

    async def say(line: str) -> None:
        shown.append(line)

    async def keep(*answer: Any) -> None:
        given.append(answer[-1])

    monkeypatch.setattr(use_cases, "answer_call", keep)
    question = ConfirmationRequestBlock(
        call_id="c-1",
        asking_call_id="c-0",
        hint="",
        words=CallWords("Refund", "Refunding", "Refunded", names_arguments=False),
        args=[],
        agent="clerk",
        tool="refund",
        fields=[Field("amount", "Amount", "number", "5")],
        offers_allowance=False,
        staff_decide=False,
    )
    await answer_call(Asker(ask, say), User(), uuid4(), question)
    assert shown == ["Enter a number."] and given == [ConfirmationForm(True, {"amount": 12})]
