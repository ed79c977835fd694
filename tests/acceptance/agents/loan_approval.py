"""A loan request: facts are gathered by a model, decided by rules, and explained by a model."""

from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel, Field

from runtime.agents import BaseAgent, InvocationContext, LlmAgent, SequentialAgent
from runtime.events import Event

MODEL = "gemini-2.5-flash"


class LoanRequest(BaseModel):
    """The facts of a request."""

    amount: int = Field(gt=0)
    income: int = Field(ge=0)


class Rules(BaseAgent):
    """Grants what is below three monthly incomes."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        request: dict[str, Any] = ctx.session.state["request"]
        granted = request["amount"] <= 3 * request["income"]
        yield Event(author=self.name, state={"decision": "granted" if granted else "refused"})


facts = LlmAgent(
    name="facts",
    model=MODEL,
    instruction="Extract amount and monthly income.",
    output_schema=LoanRequest,
    output_key="request",
)
letter = LlmAgent(
    name="letter",
    model=MODEL,
    include_contents="none",
    instruction="Tell the person that {request} was {decision}.",
    output_key="letter",
)
root_agent = SequentialAgent(name="loan", sub_agents=[facts, Rules(name="rules"), letter])
