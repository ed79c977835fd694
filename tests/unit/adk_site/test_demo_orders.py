"""Contract: orders are generated from a seed, the same in every process, and can be looked up one by one."""

from adk_site.demo.orders import COUNT, FIRST_NUMBER, all_orders, euros, find_order


def test_an_order_is_the_same_whether_found_alone_or_among_all() -> None:
    assert find_order(1042) == next(order for order in all_orders() if order.number == 1042)


def test_a_number_outside_the_range_has_no_order() -> None:
    assert find_order(FIRST_NUMBER - 1) is None
    assert find_order(FIRST_NUMBER) is not None
    assert find_order(FIRST_NUMBER + COUNT - 1) is not None
    assert find_order(FIRST_NUMBER + COUNT) is None


def test_orders_are_dense_and_in_order_of_their_dates() -> None:
    orders = list(all_orders())
    assert [order.number for order in orders] == list(range(FIRST_NUMBER, FIRST_NUMBER + COUNT))
    dates = [order.date for order in orders]
    assert dates == sorted(dates) and {date.year for date in dates} == {2025}


def test_order_1042_which_the_documentation_shows_does_not_change() -> None:
    order = find_order(1042)
    assert order is not None
    assert (order.product, order.quantity, order.status, euros(order.total)) == (
        "Keyboard",
        3,
        "delivered",
        "258.48 EUR",
    )
