"""Timeout and retries of one call: those of the request's `http_options`, else the model's own."""

from __future__ import annotations

from runtime import types
from runtime.models.llm_request import LlmRequest
from runtime.models.retry import RetryPolicy


def timeout_of(llm_request: LlmRequest, own: float | None) -> float | None:
    """Return the seconds that the model may be silent; None means no limit."""
    options = llm_request.config.http_options
    return options.timeout / 1000 if options and options.timeout else own


def retry_policy_of(llm_request: LlmRequest, own: types.HttpRetryOptions | None) -> RetryPolicy:
    """Return the policy by which a failed call is repeated."""
    options = llm_request.config.http_options
    return RetryPolicy.of((options and options.retry_options) or own)
