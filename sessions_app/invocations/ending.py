"""End of an invocation: run it to an outcome, then write the outcome into the log and the row.

The log is closed before the row ends. If the process dies in between, the row is still running: the next process
resumes the invocation, finds it complete in the log, and ends the row. In the other order, an ended invocation could
lack its last events for ever.
"""

import asyncio
import logging
import time
from dataclasses import dataclass

from runtime.errors import LlmCallsLimitExceededError, SessionNotFoundError
from sessions_app.errors import LimitExceededError, StaleLeaseError
from sessions_app.invocations.execution import Execution
from sessions_app.invocations.outcome import (
    HANDED_OVER,
    REFUSALS,
    STOPPED,
    STOPPED_BY_STAFF,
    TOO_MANY_CALLS,
    Outcome,
    failure,
    limit_exceeded,
    refusal,
)
from sessions_app.invocations.running import RunningInvocation
from sessions_app.live.notices import invocation_notice
from sessions_app.live.process import Live
from sessions_app.models import InvocationStatus
from sessions_app.process import celery_dispatch
from sessions_app.process.pool import UNAVAILABLE
from sessions_app.process.process_metrics import count_invocation
from sessions_app.store.sql import cancel_requests, leases
from sessions_app.store.sql.leases import Claim, Finished

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ending:
    """An outcome to write.

    Attributes:
        is_logged: True if the invocation's own events show the outcome.
    """

    outcome: Outcome
    is_logged: bool = False


async def run_to_ending(execution: Execution, running: RunningInvocation) -> Ending | None:
    """Run the invocation. Return None when there is no ending to write: the lease is lost or the session is gone."""
    invocation_id = execution.claim.invocation_id
    fields = execution.claim.log_fields
    running.has_begun = True
    if execution.claim.is_cancelled:
        return Ending(STOPPED)
    if running.stop_as:
        return Ending(running.stop_as)
    try:
        return Ending(await execution.run(), is_logged=True)
    except asyncio.CancelledError:
        # Not raised again: `RunningInvocation.stop` has cancelled the task to end the run, and the end is still to be
        # written. Any other cancellation is a shutdown.
        return Ending(running.stop_as or HANDED_OVER)
    except (StaleLeaseError, SessionNotFoundError) as error:
        logger.warning("Invocation %s ends in this process: %s", invocation_id, error, extra=fields)
        return None
    except UNAVAILABLE:
        logger.warning(
            "Invocation %s lost PostgreSQL and is handed over", invocation_id, exc_info=True, extra=fields
        )
        return Ending(HANDED_OVER)
    except tuple(REFUSALS) as error:
        logger.warning("Invocation %s may not go on: %s", invocation_id, error, extra=fields)
        return Ending(refusal(error))
    except LlmCallsLimitExceededError as error:
        logger.warning("Invocation %s was stopped: %s", invocation_id, error, extra=fields)
        return Ending(TOO_MANY_CALLS)
    except LimitExceededError as error:
        return Ending(limit_exceeded(str(error)))
    except Exception as error:
        logger.exception("Invocation %s failed", invocation_id, extra=fields)
        return Ending(failure(error))


async def write_ending(execution: Execution, ending: Ending, live: Live) -> Finished | None:
    """Write the ending, release the lease and publish the status.

    Return None when another process ends the invocation: it is handed over, or the lease or PostgreSQL is lost.
    """
    claim = execution.claim
    outcome = ending.outcome
    if outcome is HANDED_OVER:
        await _hand_over(claim, live)
        return None
    try:
        if outcome is STOPPED and await cancel_requests.is_stopped_by_staff(claim):
            outcome = STOPPED_BY_STAFF
        outcome = await _close_log_and_settle(execution, outcome, ending.is_logged)
        finished = await leases.finish(
            claim,
            status=outcome.status,
            error_code=outcome.error_code,
            error_message=outcome.error_message,
            error_detail=outcome.error_detail,
            used=execution.used,
        )
    except (StaleLeaseError, SessionNotFoundError) as error:
        logger.warning(
            "Invocation %s ends in this process: %s", claim.invocation_id, error, extra=claim.log_fields
        )
        return None
    except UNAVAILABLE:
        logger.warning(
            "The end of invocation %s is written when its lease has expired",
            claim.invocation_id,
            exc_info=True,
            extra=claim.log_fields,
        )
        return None
    if finished is not None:
        _log_end(execution, outcome)
        count_invocation(outcome.status)
        publish_status(live, claim, finished.status, outcome.error_message)
    return finished


def _log_end(execution: Execution, outcome: Outcome) -> None:
    claim = execution.claim
    seconds = time.time() - execution.began_at
    fields = {
        **claim.log_fields,
        "status": str(outcome.status),
        "error_code": outcome.error_code,
        "seconds": round(seconds, 3),
        "tokens": execution.used.tokens,
    }
    logger.info(
        "Invocation %s ends as %s after %.1f s", claim.invocation_id, outcome.status, seconds, extra=fields
    )


def publish_status(live: Live, claim: Claim, status: str, error: str = "") -> None:
    notice = invocation_notice(claim.invocation_id, claim.client_id, status, error)
    live.hub.publish_notice(claim.session_id, notice)


async def _close_log_and_settle(execution: Execution, outcome: Outcome, is_logged: bool) -> Outcome:
    """Write the outcome into the log, and return the outcome for the row: a failure when the log cannot be written."""
    try:
        if not is_logged:
            await execution.close_log(outcome)
        await execution.settle_calls(outcome)
    except (StaleLeaseError, SessionNotFoundError, *UNAVAILABLE):
        raise
    except Exception as error:
        invocation_id = execution.claim.invocation_id
        logger.exception(
            "The log of invocation %s could not be closed",
            invocation_id,
            extra={"invocation_id": invocation_id},
        )
        return outcome if outcome.is_failure else failure(error)
    return outcome


async def _hand_over(claim: Claim, live: Live) -> None:
    """Queue the invocation for another process now, rather than when the lease expires."""
    try:
        is_handed_over = await leases.hand_over(claim)
    except UNAVAILABLE:
        logger.warning(
            "Invocation %s is resumed when its lease has expired", claim.invocation_id, extra=claim.log_fields
        )
        return
    if is_handed_over:
        logger.info(
            "Invocation %s is handed over to another process", claim.invocation_id, extra=claim.log_fields
        )
        publish_status(live, claim, InvocationStatus.QUEUED)
        await live.relay.flush()  # Must arrive before another process reports that the invocation runs.
        await celery_dispatch.aoffer_session(claim.session_id)
