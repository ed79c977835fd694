"""Attributes of spans, for collectors and for adk-web, without a word of the conversation.

The names are those of https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/, and of OpenInference beside
them, which Phoenix reads: https://arize-ai.github.io/openinference/spec/semantic_conventions.html. Langfuse reads both.
"""

from sessions_app.conf import conf
from sessions_app.history.traces.spans import Span, SpanKind

Attributes = dict[str, str | int | float]
OPERATIONS = {
    SpanKind.AGENT: "invoke_agent",
    SpanKind.MODEL: "chat",
    SpanKind.TOOL: "execute_tool",
    SpanKind.NODE: "invoke_node",
}
INFERENCE_KIND = "openinference.span.kind"
CHAIN = "CHAIN"
"""OpenInference's kind of all spans that are neither an agent, a model nor a tool."""
_INFERENCE_KINDS = {SpanKind.AGENT: "AGENT", SpanKind.MODEL: "LLM", SpanKind.TOOL: "TOOL"}
_PROVIDERS = {
    "gemini": ("gcp.gemini", "google"),
    "claude": ("anthropic", "anthropic"),
    "gpt": ("openai", "openai"),
    "deepseek": ("deepseek", "deepseek"),
    "mistral": ("mistral_ai", "mistralai"),
    "command": ("cohere", "cohere"),
    "grok": ("x_ai", "xai"),
}
"""Providers of models by a part of the model's name, as OpenTelemetry and OpenInference call them."""
OTHER_PROVIDER = "custom"


def attributes_of(span: Span) -> Attributes:
    """Return the attributes of a span."""
    values: Attributes = {
        "gen_ai.operation.name": OPERATIONS.get(span.kind, "wait"),
        INFERENCE_KIND: _INFERENCE_KINDS.get(span.kind, CHAIN),
    }
    if span.agent:
        values["gen_ai.agent.name"] = values["agent.name"] = span.agent
    if span.kind is SpanKind.TOOL:
        values["gen_ai.tool.name"] = values["tool.name"] = span.name
    if span.skill:
        values["gen_ai.skill.name"] = span.skill
    if span.kind is SpanKind.MODEL:
        values |= _attributes_of_model(span)
    if span.first_word is not None:
        values["gen_ai.response.time_to_first_chunk"] = span.first_word
    if span.error:
        values["error.type"] = span.error
    return values


def _attributes_of_model(span: Span) -> Attributes:
    used = span.usage
    written = used.output + used.thoughts
    provider, inference_provider = _providers_of(span.name)
    values: Attributes = {
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": span.requested or span.name,
        "gen_ai.response.model": span.name,
        "gen_ai.usage.input_tokens": used.prompt,
        "gen_ai.usage.output_tokens": written,
        "gen_ai.usage.cache_read.input_tokens": used.cached,
        "llm.provider": inference_provider,
        "llm.model_name": span.name,
        "llm.token_count.prompt": used.prompt,
        "llm.token_count.completion": written,
        "llm.token_count.total": used.prompt + written,
        "llm.token_count.prompt_details.cache_read": used.cached,
        "llm.token_count.completion_details.reasoning": used.thoughts,
    }
    cost = used.cost(span.model, conf())
    if cost is not None:
        values["gen_ai.usage.cost"] = values["llm.cost.total"] = cost
    return values


def _providers_of(model: str) -> tuple[str, str]:
    found = (names for part, names in _PROVIDERS.items() if part in model.lower())
    return next(found, (OTHER_PROVIDER, OTHER_PROVIDER))
