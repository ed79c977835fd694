"""Invocations of the site: claim, execution under a lease, end, recovery after a crash, cancel, retry, rewind."""
