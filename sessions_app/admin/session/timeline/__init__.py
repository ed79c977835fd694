"""The audit page of a session: its events, calls and files, and the state after each event.

`page` builds a page of 100 events in this order, with a number of queries that does not grow with the session:

    page_query      view, filters and position from the query string
    totals, facets  sums over the log, and what the filters offer
    event_links     rows and later events with a relation to the events of the page
    event_rows      one row for each event
    timeline        answers moved to their calls, rows grouped by invocation
    person_view     in place of these three, in the view of the person
    related_rows    newest invocations, jobs and other rows of the session
    state_snapshot  the state after an event, with `shared_keys` of other sessions
    minimap         all events of the log in columns

PostgreSQL computes sums, facets and states from the JSON: the page must not load a log, which may have any length.
"""
