"""The audit page of a session: its events, calls and files, and the state after each event.

A page of 100 events is built in this order, with a number of queries that does not grow with the session:

    page_query     view, filters and position from the query string
    stored_events  events of the page, within bounds
    event_links    rows and later events with a relation to these events
    event_rows     one row for each event
    timeline       answers moved to their calls, rows grouped by invocation

PostgreSQL computes sums, facets and states from the JSON: the page must not load a log, which may have any length.
"""
