"""The numbers of one group of orders, which the report writes and the chart draws."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of one group's order values, in euros.

    Attributes:
        low: the lower end of the median's 95 % interval.
        high: the upper end of the median's 95 % interval.
    """

    orders: int
    total: float
    median: float
    low: float
    high: float
