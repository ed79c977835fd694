"""The demo agents: the help desk of a small shop. Copy this module into your own app and change it.

The site finds this module because it is the `agents.py` of an installed app and defines `app`. A tool is a plain
function; the model reads its type hints and its docstring. The prefix of a state key decides its lifetime:

    ticket          this session                  user:name    all sessions of this user
    temp:lookups    this invocation only          app:tickets  all sessions of all users
"""

import secrets

from django.conf import settings

from adk_site.demo.guides import find_guide_for
from adk_site.demo.handbook import BASE
from adk_site.demo.model import DemoModel
from adk_site.demo.orders import (
    Grouping,
    Topic,
    all_orders,
    as_part,
    confirmation_text,
    euros,
    find_order,
    invoice_csv,
)
from adk_site.demo.report import DRAWS, make_report
from adk_site.demo.returns import returns
from runtime.agents import LlmAgent
from runtime.apps import App
from runtime.context import ReadonlyContext
from runtime.models import LLMRegistry
from runtime.tools import FunctionTool, ToolContext, get_user_choice, load_memory
from runtime.tools.retrieval import KnowledgeToolset
from sessions_app.jobs import confirm, job_tool, progress, save_artifact
from sessions_app.scheduling import (
    cancel_scheduled_task,
    current_time_instruction,
    list_scheduled_tasks,
    schedule_task,
)

# Without an API key ADK_MODEL is the demo model; everything else in this module works the same with Gemini.
LLMRegistry.register(DemoModel)

MAX_LOOKUPS = 5
REFUNDABLE = ("shipped", "delivered")


def remember_name(name: str, tool_context: ToolContext) -> dict[str, str]:
    """Remember the name of the person, for this conversation and all later ones.

    Args:
        name: The name that the person wants to be called by.
    """
    tool_context.state["user:name"] = name
    return {"message": f"From now on this help desk calls you {name}."}


def show_profile(tool_context: ToolContext) -> dict[str, str | int]:
    """Show what is known of the person: name, open ticket, refunds; and how many tickets the desk has had."""
    state = tool_context.state
    return {
        "name": state.get("user:name", "not known"),
        "ticket": state.get("ticket") or "none is open",
        "refunded_orders": ", ".join(state.get("user:refunds", {})) or "none",
        "tickets_of_everybody": state.get("app:tickets", 0),
    }


async def open_ticket(problem: str, tool_context: ToolContext) -> dict[str, str]:
    """Open a ticket, so that a human looks into a problem, and write its confirmation as a file.

    Args:
        problem: A description of what is wrong, in the person's words.
    """
    state = tool_context.state
    if state.get("ticket"):
        return {"error": f"A ticket is already open ({state['ticket']}). Close it first."}
    reference = f"T-{secrets.token_hex(3)}"
    state["ticket"] = f"{reference}: {problem}"
    state["app:tickets"] = state.get("app:tickets", 0) + 1
    filename = f"{reference}.txt"
    text = confirmation_text(reference, problem, state.get("user:name"))
    await tool_context.save_artifact(filename, as_part(text, "text/plain"))
    return {"message": f"Ticket {reference} is open: {problem}", "file": filename}


def close_ticket(tool_context: ToolContext) -> dict[str, str]:
    """Close the open ticket of this conversation."""
    ticket = tool_context.state.get("ticket")
    if not ticket:
        return {"error": "No ticket is open in this conversation."}
    tool_context.state["ticket"] = None
    return {"message": f"Closed ticket {ticket}"}


@job_tool(max_retries=2, retry_on=(OSError,), soft_time_limit=300, delayable=True)
def write_report(
    topic: Topic = "sales", group_by: Grouping = "region", precise: bool = False
) -> dict[str, object]:
    """Write a report with statistics on last year's sales or returns.

    Args:
        topic: The subject of the report.
        group_by: The dimension that the numbers are grouped by.
        precise: True to compute ten times as long, for narrower intervals.
    """
    # The person may answer days later: the job ends here without an answer, and runs again with it.
    is_precise = precise and confirm("A precise report computes for some minutes. Go ahead?")
    draws = DRAWS * 10 if is_precise else DRAWS
    report = make_report(all_orders(), topic, group_by, progress, draws)
    name = f"{topic}-by-{group_by}"
    files = {}
    if report.chart:
        files[f"{name}.png"] = as_part(report.chart, "image/png")
    files[f"{name}.csv"] = as_part(report.table, "text/csv")
    files[f"{name}.md"] = as_part(report.page, "text/markdown")
    for filename, part in files.items():
        save_artifact(filename, part)
    return {"summary": f"**{report.title}**\n\n{report.summary}", "files": list(files)}


def order_status(order_number: int, tool_context: ToolContext) -> dict[str, str | int]:
    """Look up the status, content and price of an order.

    Args:
        order_number: The number of the order.
    """
    lookups = tool_context.state.get("temp:lookups", 0) + 1
    tool_context.state["temp:lookups"] = lookups
    if lookups > MAX_LOOKUPS:
        return {"error": "Too many lookups for one message. Ask the person for the order number."}
    order = find_order(order_number)
    if order is None:
        return {"error": f"There is no order {order_number}."}
    refunded = str(order.number) in tool_context.state.get("user:refunds", {})
    tool_context.state["order"] = order.number
    return {
        "order": order.number,
        "status": "refunded" if refunded else order.status,
        "content": f"{order.quantity} x {order.product}",
        "total": euros(order.total),
        "date": order.date.isoformat(),
        "region": order.region,
    }


def refund_order(tool_context: ToolContext, order_number: int | None = None) -> dict[str, str]:
    """Refund an order: the person gets the money back.

    Args:
        order_number: The number of the order; defaults to the last one of this conversation.
    """
    number = order_number or tool_context.state.get("order")
    if not number:
        return {"error": "Which order? Tell me its number."}
    order = find_order(number)
    if order is None:
        return {"error": f"There is no order {number}."}
    refunds = tool_context.state.get("user:refunds", {})
    if str(order.number) in refunds:
        return {"error": f"Order {order.number} is refunded already."}
    if order.status not in REFUNDABLE:
        return {"error": f"Order {order.number} is {order.status}: there is nothing to refund."}
    tool_context.state["user:refunds"] = {**refunds, str(order.number): order.total}
    return {"message": f"Order {order.number} is refunded: you get {euros(order.total)} back."}


async def write_invoice(order_number: int, tool_context: ToolContext) -> dict[str, str]:
    """Write the invoice of an order as a file.

    Args:
        order_number: The number of the order.
    """
    order = find_order(order_number)
    if order is None:
        return {"error": f"There is no order {order_number}."}
    filename = f"invoice-{order.number}.csv"
    await tool_context.save_artifact(filename, as_part(invoice_csv(order), "text/csv"))
    return {"message": f"Here is the invoice of order {order.number}.", "file": filename}


def find_guide(problem: str, tool_context: ToolContext) -> dict[str, str | list[str]]:
    """Find the steps that solve a problem with a printer, the network or wifi, a screen, a password or signing in.

    Args:
        problem: A description of what is wrong, in the person's words.
    """
    guide = find_guide_for(problem)
    if guide is None:
        return {"error": "There is no guide for that. Offer to open a ticket, so that a human looks into it."}
    tool_context.state["guide"] = guide.title
    return {"message": f"**{guide.title}**", "steps": list(guide.steps)}


orders = LlmAgent(
    name="orders",
    description="Orders and billing: the status of an order, payments, refunds, invoices.",
    instruction=(
        "You look after orders and billing. Look an order up before you say anything about it. "
        "The order that was looked up last: {order?}. Never promise a refund: call the tool, and report its result."
    ),
    tools=[
        FunctionTool(order_status, title="Look up order {order_number}"),
        FunctionTool(refund_order, title="Refund order {order_number}", require_confirmation=True),
        FunctionTool(write_invoice, title="Write the invoice of order {order_number}"),
    ],
)

technical = LlmAgent(
    name="technical",
    description="Technical problems and accounts: printers, network, wifi, screens, passwords, signing in.",
    instruction=(
        "You solve technical problems. Look for a guide first and give its steps one by one. "
        "The guide that was found last: {guide?}. When no guide helps, transfer to the help desk for a ticket."
    ),
    tools=[FunctionTool(find_guide, title="Look for a guide")],
)


def reception(context: ReadonlyContext) -> str:
    """Return the help desk's instruction; a function because it contains the current time."""
    return (
        "You are the reception of a shop's help desk. Transfer questions on orders, payments, returns and technical "
        "problems to the specialists. Open a ticket when nobody here can solve a problem; the open ticket: "
        f"{context.state.get('ticket') or 'none'}. A report takes a while: say that it was started, and give its "
        "summary when it is finished. Schedule tasks for a later time or a repetition, such as reminders. "
        f"{current_time_instruction(context)}"
    )


help_desk = LlmAgent(
    name="help_desk",
    model=settings.ADK_MODEL,
    description="Helps with orders and technical problems, writes reports, opens tickets, and reminds you of things.",
    global_instruction="Answer in one or two short, friendly sentences. The person is called {user:name?}.",
    instruction=reception,
    tools=[
        *(remember_name, show_profile, open_ticket, close_ticket, write_report, get_user_choice),
        *(schedule_task, list_scheduled_tasks, cancel_scheduled_task),
        *(load_memory, KnowledgeToolset(bases=[BASE])),
    ],
    sub_agents=[orders, technical, returns],
)

app = App(name="help_desk", root_agent=help_desk)

faces = {
    "help_desk": {"color": "teal"},
    "orders": {"color": "purple"},
    "technical": {"color": "blue"},
    "returns": {"color": "orange"},
}

starters = [
    "Where is order 1001?",
    "Refund order 1001",
    "Return order 20990",
    "Write a report on last year's sales",
    "What does the handbook say about late returns?",
    "Draw four pictures of the sea",
]
