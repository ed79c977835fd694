"""Actions of users, one function each.

The chat page, the HTTP API and the apps of `contrib/` all call these functions, so permission and validation stand in
one place. A function finds the user's session, checks the input, and then acts.
"""

from sessions_app.use_cases.answers import (
    answer_call,
    answer_long_running_call,
    withdraw_all_allowances,
    withdraw_allowance,
)
from sessions_app.use_cases.client_sessions import (
    change_client_state,
    create_client_session,
    delete_client_session,
)
from sessions_app.use_cases.files import remove_upload, upload_bytes, upload_file
from sessions_app.use_cases.jobs import answer_job, cancel_job, cancel_schedule
from sessions_app.use_cases.linked_accounts import ForeignAccount, link_account, unlink_account
from sessions_app.use_cases.messages import (
    NewChat,
    cancel,
    edit_message,
    give_feedback,
    retry,
    rewind,
    send_message,
    switch_alternative,
)
from sessions_app.use_cases.sessions import (
    change_session,
    create_session,
    edit_session,
    mark_seen,
)
from sessions_app.use_cases.sign_in import begin_sign_in, end_sign_in, revoke_sign_in
from sessions_app.use_cases.user_state import (
    change_own_state,
    correct_memory,
    forget_memory,
    pause_memory,
    resume_memory,
)
