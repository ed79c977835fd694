"""Contract of models that make embeddings (M2). Run by test_models.py."""

from __future__ import annotations

import math

import pytest

from runtime.errors import ModelError
from runtime.models import BaseLlm
from tests.model_server import Failure, ModelServer

VECTORS = {"red": [3.0, 4.0], "green": [0.0, 2.0], "zero": [0.0, 0.0], "long": [1.0, 0.0, 0.0]}


class ModelEmbeddingsContract:
    """A vector of length 1 for each text, in the order of the texts."""

    @pytest.fixture(autouse=True)
    def vectors(self, server: ModelServer) -> None:
        server.embeddings.vector_of = VECTORS.__getitem__

    async def test_m2_each_text_gets_its_vector(self, server: ModelServer, llm: BaseLlm) -> None:
        made = await llm.embed(["red", "green", "red"], 2)
        assert made.vectors == [[0.6, 0.8], [0.0, 1.0], [0.6, 0.8]]
        assert made.tokens == 3
        assert server.embeddings.batches == [["red", "green", "red"]]

    @pytest.mark.parametrize("text", ["zero", "long"])
    async def test_e7_other_vectors_than_asked_for_are_refused(self, llm: BaseLlm, text: str) -> None:
        with pytest.raises(ModelError) as error:
            await llm.embed(["red", text], 2)
        assert error.value.code == "INVALID_RESPONSE"

    async def test_m2_a_failed_call_is_repeated(self, server: ModelServer, llm: BaseLlm) -> None:
        failures = [Failure(http_status=503, status="UNAVAILABLE", message="Busy.")]
        server.embeddings.fails = lambda texts: failures.pop() if failures else None
        made = await llm.embed(["red"], 2)
        assert math.isclose(math.hypot(*made.vectors[0]), 1.0)
        assert len(server.embeddings.batches) == 2
