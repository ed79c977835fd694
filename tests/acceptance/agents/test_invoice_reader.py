"""The reader of invoices: upload, artifact, reading, object (contract F1, T9, A4, Q13)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from runtime import types
from tests.acceptance.agents.invoice_reader import app
from tests.acceptance.agents.stage import Stage
from tests.fakes import call

FILE = types.Part(inline_data=types.Blob(data=b"20 EUR", mime_type="text/plain", display_name="lamp.txt"))
ANSWER = {"sender": "Lamps Ltd", "amount": 20.0, "lines": ["A lamp"]}


async def test_an_upload_is_read_and_answered_as_an_object() -> None:
    turns = [call("load_artifacts", artifact_names=["lamp.txt"]), call("set_model_response", **ANSWER)]
    stage = Stage(app=app, reader=turns)
    await stage.open()
    events = await stage.say(FILE)
    assert events[0].actions.artifact_delta == {"lamp.txt": 0}
    read = [part for content in stage.models["reader"].requests[1].contents for part in content.parts or []]
    assert b"20 EUR" in [part.inline_data.data for part in read if part.inline_data]
    assert (await stage.stored()).state["invoice"] == ANSWER


async def test_an_answer_that_is_no_invoice_is_refused() -> None:
    stage = Stage(app=app, reader=["I cannot read that."])
    await stage.open()
    with pytest.raises(ValidationError):
        await stage.say(FILE)
