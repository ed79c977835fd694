"""Evaluations of apps against eval sets.

`start` stores the evaluation with its cases and sends a Celery task for each case; `run` runs a case in memory, scores
it, and writes the result; `end` ends the evaluation with its last case. `repairs` finds what a dead worker or a lost
message left. `comparison` tells the changes since the last completed evaluation of the set.

    case:        queued --claim--> running --> passed | failed | broken
                   ^                  |
                   '-- worker died ---'   (after three attempts: broken)
    an active case (queued or running) can also end as cancelled
"""
