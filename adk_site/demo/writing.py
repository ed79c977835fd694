"""Contents of the files that the help desk writes."""

import csv
from io import StringIO

from adk_site.demo.orders import Order
from runtime import types


def as_part(content: str | bytes, mime_type: str) -> types.Part:
    """Wrap a file's content in a part, to be saved as an artifact."""
    data = content.encode() if isinstance(content, str) else content
    return types.Part.from_bytes(data=data, mime_type=mime_type)


def confirmation_text(reference: str, problem: str, name: str | None) -> str:
    """Return the letter that confirms a ticket."""
    return f"Ticket {reference}\n\nDear {name or 'customer'},\nwe look into this for you:\n\n    {problem}\n"


def refund_letter(order: int, amount: str, name: str | None) -> str:
    """Return the mail that tells of a refund."""
    return f"Your order {order}\n\nDear {name or 'customer'},\nwe have paid {amount} back to you.\n"


def invoice_csv(order: Order) -> str:
    rows: list[list[str | int]] = [
        ["Order", "Date", "Item", "Quantity", "Unit price EUR", "Total EUR"],
        [
            order.number,
            order.date.isoformat(),
            order.product,
            order.quantity,
            f"{order.unit_price / 100:.2f}",
            f"{order.total / 100:.2f}",
        ],
    ]
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
