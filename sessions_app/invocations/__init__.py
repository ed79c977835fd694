"""Invocations of the site: claim, execution under a lease, end, recovery after a crash, cancel, retry, rewind.

    worker.start --> sql/invocation_queue.enqueue --> Claim --> worker._run_claim, an asyncio task
                                                                   |
         ending.run_to_ending: Execution.run, until an Outcome  <--+
         ending.write_ending:  closing events, sql/leases.finish, a notice, then the next queued invocation

An invocation belongs to no socket: its task runs on when the tab is closed. If the process dies, a sweep queues the
invocation again, and another process resumes it from its events.
"""
