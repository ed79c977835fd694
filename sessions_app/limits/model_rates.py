"""Rates of models: requests and tokens in a minute, counted by all processes together.

A model call counts its request and reads both counts in Redis before the request. Above a limit it waits until the
minute is over. The calls of a process wait in their order. Tokens are counted after the answer, when they are known.
"""

import asyncio
import logging
from functools import lru_cache

from runtime.errors import ModelError
from runtime.models.failures import sentence_for
from sessions_app.conf import RateLimit, conf
from sessions_app.limits.quotas import MINUTE, Quota
from sessions_app.limits.rates import ExceededQuota, rates
from sessions_app.process.threads import LoopLocal, limit_threads

logger = logging.getLogger(__name__)
# A window that is just ending has almost no time left; without a pause the calls would ask Redis in a tight loop.
MIN_WAIT = 0.05


class SharedRate:
    """Rate of the models with names that begin with `name`."""

    def __init__(self, name: str, limit: RateLimit) -> None:
        self._name = name
        self._requests = _quotas("requests", name, limit.requests)
        self._tokens = _quotas("tokens", name, limit.tokens)
        self._turn = LoopLocal(asyncio.Lock)

    async def wait(self) -> None:
        """Wait until the limits allow a request, and count it.

        Raises:
            ModelError: the limits allow no request within `model_wait_seconds`.
        """
        seconds = conf().model_wait_seconds
        try:
            # The first call in line holds the lock while it waits: calls keep their order, and only one asks Redis.
            async with asyncio.timeout(seconds), self._turn.get():
                while exceeded := await limit_threads.run(self._count_request):
                    logger.info("A call of the model %r waits %.1f s", self._name, exceeded.seconds)
                    await asyncio.sleep(max(exceeded.seconds, MIN_WAIT))
        except TimeoutError:
            detail = f"The site's limit for {self._name!r} allowed no request within {seconds:g} s."
            code = "RESOURCE_EXHAUSTED"
            raise ModelError(code, sentence_for(code), detail) from None

    def add_tokens(self, tokens: int) -> None:
        """Count the tokens of an answer. The count reaches other processes within a second."""
        rates().count(self._tokens, tokens)

    def _count_request(self) -> ExceededQuota | None:
        """Count a request, unless the limit of tokens is exceeded; return the exceeded limit, if any."""
        return rates().count_now(self._requests, unless=self._tokens)


def find_model_rate(model: str) -> SharedRate | None:
    """Return the rate of a model; None when the site sets no limit for it."""
    found = conf().model_rate_limit(model)
    return found and _shared_rate(*found)


@lru_cache
def _shared_rate(name: str, limit: RateLimit) -> SharedRate:
    return SharedRate(name, limit)


def _quotas(kind: str, name: str, most: int) -> list[Quota]:
    return [Quota(f"model-{kind}:{name}", most, MINUTE)] if most else []
