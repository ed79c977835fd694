"""Orders of an invented shop, generated from a seed: the same in every process and every run.

Below them are the texts of the files that the help desk writes about an order.
"""

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from io import StringIO
from typing import Literal

from runtime import types

Topic = Literal["sales", "returns"]
Grouping = Literal["region", "product", "month"]

SEED = "help desk"
FIRST_NUMBER = 1001
COUNT = 20_000
YEAR = 2025

REGIONS = {"North": 1.0, "South": 0.9, "East": 1.15, "West": 1.05, "Islands": 1.3}
PRODUCTS = {
    "Desk lamp": 39_00,
    "Keyboard": 79_00,
    "Monitor": 249_00,
    "Office chair": 189_00,
    "Printer": 159_00,
    "Router": 99_00,
    "Webcam": 59_00,
}
STATUSES = {"delivered": 88, "returned": 7, "cancelled": 5}
RECENT_STATUSES = {"packed": 40, "shipped": 60}
SHIPPING_DAYS = 4


@dataclass(frozen=True)
class Order:
    """An order; prices are in cents."""

    number: int
    date: date
    region: str
    product: str
    quantity: int
    unit_price: int
    status: str

    @property
    def total(self) -> int:
        """Price of all items, in cents."""
        return self.quantity * self.unit_price


def find_order(number: int) -> Order | None:
    """Return the order with this number, or None if it does not exist."""
    if not (FIRST_NUMBER <= number < FIRST_NUMBER + COUNT):
        return None
    return _generate_order(number)


def all_orders() -> Iterator[Order]:
    """Return an iterator over all orders, oldest first."""
    return (_generate_order(number) for number in range(FIRST_NUMBER, FIRST_NUMBER + COUNT))


def euros(cents: int) -> str:
    """Format an amount of cents as euros."""
    return f"{cents / 100:,.2f} EUR"


def _generate_order(number: int) -> Order:
    # Seeded by the number, so a lookup does not need to generate the other orders.
    dice = random.Random(f"{SEED} {number}")  # noqa: S311 - no secret depends on it
    ordered = date(YEAR, 1, 1) + timedelta(days=(number - FIRST_NUMBER) * 365 // COUNT)
    region = dice.choices(list(REGIONS), weights=[30, 25, 20, 20, 5])[0]
    product = dice.choice(list(PRODUCTS))
    season = 1.2 if ordered.month in (11, 12) else 1.0
    price = PRODUCTS[product] * REGIONS[region] * season * dice.uniform(0.9, 1.1)
    is_recent = ordered > date(YEAR, 12, 31) - timedelta(days=SHIPPING_DAYS)
    statuses = RECENT_STATUSES if is_recent else STATUSES
    return Order(
        number=number,
        date=ordered,
        region=region,
        product=product,
        quantity=dice.choices([1, 2, 3, 5], weights=[70, 20, 7, 3])[0],
        unit_price=round(price),
        status=dice.choices(list(statuses), weights=list(statuses.values()))[0],
    )


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
