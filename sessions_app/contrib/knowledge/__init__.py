"""Knowledge bases: files that staff upload, as passages that agents find and cite.

    upload      `documents` stores the file as a queued version, and sends a Celery task
    reading     `reading` claims the version, has `read_file` read the file in a restricted process, and stores passages
    embedding   `sessions_app.store.embedding` makes their vectors, in its rounds
    current     `publishing` lets the version take the place of the one before, in one transaction
    search      `search` finds passages of current versions, for an agent's tool `search_knowledge`

A process that dies in one of the steps leaves the earlier version in place; the sweep repeats the step (`repairs`).
"""
