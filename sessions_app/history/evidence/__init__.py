"""Evidence: the means to prove what a log said, and to find what was changed behind the site's back.

integrity     the chain of hashes in a log, computed by triggers: finds what somebody without all rights has changed
definitions   the functions and triggers that evidence rests on: finds those that were replaced
sealing       signed roots of all rows, kept where the owner of the database cannot write (`root_file`)
differences   what differs from a root, and which erasures explain it
proofs        that a root has one event, without the other rows, by a `hash_tree`
"""
