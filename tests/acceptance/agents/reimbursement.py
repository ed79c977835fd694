"""A person in the loop: small expenses are paid immediately, large ones wait for a manager's approval."""

from typing import Any

from runtime.agents import Agent
from runtime.apps import App, ResumabilityConfig
from runtime.tools import LongRunningFunctionTool

MODEL = "gemini-2.5-flash"


def reimburse(purpose: str, amount: float) -> dict[str, str]:
    """Pays an amount back to the employee.

    Args:
        purpose: What the money was spent on.
        amount: How much it was.
    """
    return {"status": "ok", "paid": f"{amount:.2f} for {purpose}"}


def ask_for_approval(purpose: str, amount: float) -> dict[str, Any]:
    """Asks the manager to approve of a reimbursement.

    Args:
        purpose: What the money was spent on.
        amount: How much it was.
    """
    if amount <= 0:
        return {"status": "error", "error": "There is nothing to approve of."}
    return {"status": "pending", "approver": "Sean", "ticket_id": "reimbursement-ticket-001"}


root_agent = Agent(
    name="reimbursement_agent",
    model=MODEL,
    instruction=(
        "Below 100 dollars, call reimburse. Otherwise call ask_for_approval, and call reimburse when it is approved; "
        "if it is rejected, tell the employee."
    ),
    tools=[reimburse, LongRunningFunctionTool(func=ask_for_approval)],
)

app = App(name="reimbursement", root_agent=root_agent)
resumable_app = App(
    name="reimbursement", root_agent=root_agent, resumability_config=ResumabilityConfig(is_resumable=True)
)
