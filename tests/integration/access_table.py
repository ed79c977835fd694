"""Table of the access matrix: each address and method, who gets which status, and what opens it to staff."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from django.contrib import admin

# Expected statuses; `login` is a redirect to a sign-in page.
# "staff" are members of staff whose permissions do not open the address: none at all, or all of them but one of each
# set that opens it. "opened by" names these sets: permissions together (+), or alternatives (|), that give staff what a
# superuser gets. WORDS below explains its words, such as `read`. `*` is each model that the admin shows; a row with a
# model's name goes first. A person whose account was deactivated gets what the anonymous get, also for their own rows.
TABLE = """
method anonymous person owner staff superuser opened by  address

GET    login     200    200   200   200       -          /
POST   405       405    405   405   405       -          /
GET    login     302    302   302   302       -          /start/
POST   405       405    405   405   405       -          /start/
GET    405       405    405   405   405       -          /preferences/
POST   302       302    302   302   302       -          /preferences/
GET    login     200    200   200   200       -          /settings/
POST   405       405    405   405   405       -          /settings/
GET    405       405    405   405   405       -          /settings/sign-ins/<credential_id>/forget/
POST   login     302    302   302   302       -          /settings/sign-ins/<credential_id>/forget/
GET    405       405    405   405   405       -          /settings/linked-accounts/<account_id>/unlink/
POST   login     302    302   302   302       -          /settings/linked-accounts/<account_id>/unlink/
GET    login     200    200   200   200       -          /knowledge/
POST   405       405    405   405   405       -          /knowledge/
GET    login     404    200   404   404       -          /knowledge/<base_id>/
POST   login     404    302   404   404       -          /knowledge/<base_id>/
GET    405       405    405   405   405       -          /knowledge/<base_id>/documents/<document_id>/delete/
POST   login     404    302   404   404       -          /knowledge/<base_id>/documents/<document_id>/delete/
GET    login     404    200   404   404       -          /knowledge/passages/<passage_id>/
POST   405       405    405   405   405       -          /knowledge/passages/<passage_id>/
GET    login     404    404   404   404       -          /slack/link/<token>/
POST   login     404    404   404   404       -          /slack/link/<token>/
GET    login     400    400   400   400       -          /authorize/
POST   login     400    400   400   400       -          /authorize/
GET    login     400    400   400   400       -          /sign-in/callback/
POST   405       405    405   405   405       -          /sign-in/callback/
GET    login     404    404   404   404       -          /sign-in/<call_id>/
POST   405       405    405   405   405       -          /sign-in/<call_id>/
GET    login     200    200   200   200       -          /settings/known/
POST   405       405    405   405   405       -          /settings/known/
GET    405       405    405   405   405       -          /settings/known/pause/
POST   login     302    302   302   302       -          /settings/known/pause/
GET    405       405    405   405   405       -          /settings/known/change/
POST   login     302    302   302   302       -          /settings/known/change/
GET    405       405    405   405   405       -          /settings/known/forget/
POST   login     302    302   302   302       -          /settings/known/forget/
GET    405       405    405   405   405       -          /settings/known/<entry_id>/
POST   login     302    302   302   302       -          /settings/known/<entry_id>/
GET    405       405    405   405   405       -          /settings/instructions/
POST   login     404    404   404   404       -          /settings/instructions/
GET    405       405    405   405   405       -          /settings/allowances/withdraw/
POST   login     302    302   302   302       -          /settings/allowances/withdraw/
GET    405       405    405   405   405       -          /settings/allowances/<session_id>/withdraw/
POST   login     302    302   302   302       -          /settings/allowances/<session_id>/withdraw/
GET    405       405    405   405   405       -          /settings/export/
POST   login     200    200   200   200       -          /settings/export/
GET    405       405    405   405   405       -          /settings/delete/
POST   login     400    400   403   403       -          /settings/delete/
GET    login     200    200   200   200       -          /keys/
POST   login     400    400   400   400       -          /keys/
GET    405       405    405   405   405       -          /keys/<key_id>/revoke/
POST   login     404    302   404   404       -          /keys/<key_id>/revoke/
GET    login     200    200   200   200       -          /chats/
POST   405       405    405   405   405       -          /chats/
GET    403       403    403   403   200       view_invocation /metrics
POST   405       405    405   405   405       -          /metrics
GET    login     200    200   200   200       -          /activity/
POST   405       405    405   405   405       -          /activity/
GET    login     200    200   200   200       -          /activity/list/
POST   405       405    405   405   405       -          /activity/list/
GET    404       404    404   404   404       -          /dev-ui/
POST   405       405    405   405   405       -          /dev-ui/
GET    404       404    404   404   404       -          /dev-ui/<name>
POST   405       405    405   405   405       -          /dev-ui/<name>
GET    login     302    302   302   302       -          /chat/new/<app_name>/
POST   405       405    405   405   405       -          /chat/new/<app_name>/
GET    login     404    200   404   404       -          /chat/<session_id>/
POST   405       405    405   405   405       -          /chat/<session_id>/
GET    200       302    302   302   302       -          /embedded/<app_name>/
POST   405       405    405   405   405       -          /embedded/<app_name>/
GET    200       302    200   302   302       -          /embedded/<app_name>/<session_id>/
POST   405       405    405   405   405       -          /embedded/<app_name>/<session_id>/
GET    login     404    200   404   404       -          /chat/<session_id>/events/
POST   405       405    405   405   405       -          /chat/<session_id>/events/
GET    login     404    200   404   404       -          /chat/<session_id>/events/alternatives/
POST   405       405    405   405   405       -          /chat/<session_id>/events/alternatives/
GET    login     404    200   404   404       -          /chat/<session_id>/events/<seq>/text/
POST   405       405    405   405   405       -          /chat/<session_id>/events/<seq>/text/
GET    login     404    200   404   404       -          /chat/<session_id>/events/<seq>/suggestions/
POST   405       405    405   405   405       -          /chat/<session_id>/events/<seq>/suggestions/
GET    login     404    200   404   404       -          /chat/<session_id>/steps/
POST   405       405    405   405   405       -          /chat/<session_id>/steps/
GET    login     404    403   404   404       -          /chat/<session_id>/events/<seq>/cause/
POST   405       405    405   405   405       -          /chat/<session_id>/events/<seq>/cause/
GET    405       405    405   405   405       -          /chat/<session_id>/events/<seq>/feedback/
POST   login     404    204   404   404       -          /chat/<session_id>/events/<seq>/feedback/
GET    405       405    405   405   405       -          /chat/<session_id>/<change>/
POST   login     404    204   404   404       -          /chat/<session_id>/<change>/
GET    login     404    200   404   404       -          /chat/<session_id>/export/markdown/
POST   405       405    405   405   405       -          /chat/<session_id>/export/markdown/
GET    login     404    200   404   404       -          /chat/<session_id>/export/json/
POST   405       405    405   405   405       -          /chat/<session_id>/export/json/
GET    login     404    200   404   404       -          /chat/<session_id>/export/page/
POST   405       405    405   405   405       -          /chat/<session_id>/export/page/
GET    login     404    200   404   404       -          /chat/<session_id>/share/
POST   login     404    200   404   404       -          /chat/<session_id>/share/
GET    405       405    405   405   405       -          /chat/<session_id>/share/revoke/
POST   login     404    200   404   404       -          /chat/<session_id>/share/revoke/
GET    login     200    200   200   200       -          /shared/<token>/
POST   405       405    405   405   405       -          /shared/<token>/
GET    login     200    200   200   200       -          /shared/<token>/artifacts/<filename>
POST   405       405    405   405   405       -          /shared/<token>/artifacts/<filename>
GET    login     200    200   200   200       -          /shared/<token>/preview/<filename>
POST   405       405    405   405   405       -          /shared/<token>/preview/<filename>
GET    login     404    404   404   404       -          /shared/<token>/documents/<filename>
POST   405       405    405   405   405       -          /shared/<token>/documents/<filename>
GET    login     404    200   404   404       -          /chat/<session_id>/artifacts/<filename>
POST   405       405    405   405   405       -          /chat/<session_id>/artifacts/<filename>
GET    login     404    200   404   404       -          /chat/<session_id>/preview/<filename>
POST   405       405    405   405   405       -          /chat/<session_id>/preview/<filename>
GET    login     404    404   404   404       -          /chat/<session_id>/documents/<filename>
POST   405       405    405   405   405       -          /chat/<session_id>/documents/<filename>
GET    login     404    200   404   404       -          /chat/<session_id>/files/
POST   login     404    400   404   404       -          /chat/<session_id>/files/
GET    405       405    405   405   405       -          /chat/<session_id>/frames/
POST   login     404    400   404   404       -          /chat/<session_id>/frames/
GET    405       405    405   405   405       -          /chat/<session_id>/files/remove/
POST   login     404    204   404   404       -          /chat/<session_id>/files/remove/

GET    200       302    302   302   302       -          /accounts/login/
POST   200       302    302   302   302       -          /accounts/login/
GET    405       405    405   405   405       -          /accounts/logout/
POST   login     login  login login login     -          /accounts/logout/

GET    login     login  login 200   200       -          /admin/
POST   login     login  login 200   200       -          /admin/
GET    200       200    200   302   302       -          /admin/login/
POST   200       200    200   200   200       -          /admin/login/
GET    302       302    302   405   405       -          /admin/logout/
POST   302       302    302   login login     -          /admin/logout/
GET    login     login  login 200   200       -          /admin/password_change/
POST   login     login  login 200   200       -          /admin/password_change/
GET    login     login  login 200   200       -          /admin/password_change/done/
POST   login     login  login 405   405       -          /admin/password_change/done/
GET    login     login  login 403   403       -          /admin/autocomplete/
POST   login     login  login 405   405       -          /admin/autocomplete/
GET    login     login  login 200   200       -          /admin/jsi18n/
POST   login     login  login 405   405       -          /admin/jsi18n/
GET    login     login  login 404   404       -          /admin/r/<content_type_id>/<object_id>/
POST   login     login  login 404   404       -          /admin/r/<content_type_id>/<object_id>/
GET    login     login  login 404   200       any        /admin/<app_label>/
POST   login     login  login 404   200       any        /admin/<app_label>/
GET    login     login  login 404   404       -          /admin/<url>
POST   login     login  login 404   404       -          /admin/<url>

GET    login     login  login 403   200       set_*      /admin/sessions_app/legalhold/add/
POST   login     login  login 403   200       set_*      /admin/sessions_app/legalhold/add/
GET    login     login  login 403   200       lift_*     /admin/sessions_app/legalhold/<object_id>/lift/
POST   login     login  login 403   200       lift_*     /admin/sessions_app/legalhold/<object_id>/lift/
GET    login     login  login 403   200       add+text   /admin/sessions_app/annotation/add/
POST   login     login  login 403   200       add+text   /admin/sessions_app/annotation/add/
GET    login     login  login 403   200       delete+text   /admin/sessions_app/annotation/<object_id>/delete/
POST   login     login  login 403   200       delete+text   /admin/sessions_app/annotation/<object_id>/delete/
GET    login     login  login 403   200       evalset    /admin/sessions_app/annotation/evalset.json
POST   login     login  login 403   403       -          /admin/sessions_app/annotation/evalset.json
GET    login     login  login 403   200       read       /admin/sessions_app/knowledgebase/
POST   login     login  login 403   200       read       /admin/sessions_app/knowledgebase/
GET    login     login  login 403   200       add_*      /admin/sessions_app/knowledgebase/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/knowledgebase/add/
GET    login     login  login 403   200       read       /admin/sessions_app/knowledgebase/<object_id>/change/
POST   login     login  login 403   200       change_*   /admin/sessions_app/knowledgebase/<object_id>/change/
GET    login     login  login 403   200       delete_*   /admin/sessions_app/knowledgebase/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/sessions_app/knowledgebase/<object_id>/delete/
GET    login     login  login 403   200       add_*      /admin/sessions_app/knowledgedocument/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/knowledgedocument/add/
GET    login     login  login 403   200       delete_*   /admin/sessions_app/knowledgedocument/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/sessions_app/knowledgedocument/<object_id>/delete/
GET    login     login  login 403   200       read       /admin/sessions_app/remit/
POST   login     login  login 403   200       read       /admin/sessions_app/remit/
GET    login     login  login 403   200       add_*      /admin/sessions_app/remit/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/remit/add/
GET    login     login  login 403   200       read       /admin/sessions_app/remit/<object_id>/change/
POST   login     login  login 403   200       change_*   /admin/sessions_app/remit/<object_id>/change/
GET    login     login  login 403   200       delete_*   /admin/sessions_app/remit/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/sessions_app/remit/<object_id>/delete/
GET    login     login  login 403   404       resolve    /admin/sessions_app/failure/cause/
POST   login     login  login 403   404       resolve    /admin/sessions_app/failure/cause/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/change/
GET    login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/history/
POST   login     login  login 403   200       view_error_detail /admin/sessions_app/callerror/<object_id>/history/
GET    login     login  login 403   200       read       /admin/sessions_app/staffact/all/
POST   login     login  login 403   403       -          /admin/sessions_app/staffact/all/
GET    login     login  login 403   200       read       /admin/sessions_app/*/
POST   login     login  login 403   403       -          /admin/sessions_app/*/
GET    login     login  login 403   403       -          /admin/sessions_app/*/add/
POST   login     login  login 403   403       -          /admin/sessions_app/*/add/
GET    login     login  login 403   302       read       /admin/sessions_app/event/<object_id>/change/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<object_id>/change/
GET    login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/change/
POST   login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/sessions_app/*/<object_id>/history/
GET    login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/delete/
POST   login     login  login 403   403       -          /admin/sessions_app/*/<object_id>/delete/
GET    login     login  login 302   302       -          /admin/sessions_app/*/<object_id>/
POST   login     login  login 302   302       -          /admin/sessions_app/*/<object_id>/
GET    login     login  login 403   200       export-text /admin/sessions_app/session/<session_id>/export/
POST   login     login  login 403   200       export-text /admin/sessions_app/session/<session_id>/export/
GET    login     login  login 403   200       unmask     /admin/sessions_app/session/<session_id>/unmask/
POST   login     login  login 403   200       unmask     /admin/sessions_app/session/<session_id>/unmask/
GET    login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/mask/
POST   login     login  login 403   302       text       /admin/sessions_app/session/<session_id>/mask/
GET    login     login  login 403   200       erase-text /admin/sessions_app/session/<session_id>/erase/
POST   login     login  login 403   200       erase-text /admin/sessions_app/session/<session_id>/erase/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/event/<seq>/raw.json
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/event/<seq>/raw.json
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/event/<seq>/sent.json
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/event/<seq>/sent.json
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/integrity/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/integrity/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/news/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/news/
GET    login     login  login 403   404       text       /admin/sessions_app/session/<session_id>/graph/
POST   login     login  login 403   302       steer      /admin/sessions_app/session/<session_id>/graph/
GET    login     login  login 403   200       text       /admin/sessions_app/session/<session_id>/trace/
POST   login     login  login 403   403       -          /admin/sessions_app/session/<session_id>/trace/
GET    login     login  login 403   200       export     /admin/sessions_app/session/export.csv
POST   login     login  login 403   403       -          /admin/sessions_app/session/export.csv
GET    login     login  login 403   200       export     /admin/sessions_app/session/export.jsonl
POST   login     login  login 403   403       -          /admin/sessions_app/session/export.jsonl
GET    login     login  login 403   200       read       /admin/sessions_app/artifact/<artifact_id>/download/
POST   login     login  login 403   403       -          /admin/sessions_app/artifact/<artifact_id>/download/
GET    login     login  login 403   404       read       /admin/sessions_app/artifact/<artifact_id>/picture/
POST   login     login  login 403   403       -          /admin/sessions_app/artifact/<artifact_id>/picture/
GET    login     login  login 403   200       correct    /admin/sessions_app/session/<session_id>/state/
POST   login     login  login 403   200       correct    /admin/sessions_app/session/<session_id>/state/
GET    login     login  login 403   302       decide     /admin/sessions_app/answerrequest/<object_id>/answer/
POST   login     login  login 403   200       decide     /admin/sessions_app/answerrequest/<object_id>/answer/
GET    login     login  login 403   302       text       /admin/sessions_app/answerrequest/decide/
POST   login     login  login 403   302       text       /admin/sessions_app/answerrequest/decide/
GET    login     login  login 403   200       second     /admin/sessions_app/actrequest/<object_id>/answer/
POST   login     login  login 403   200       second     /admin/sessions_app/actrequest/<object_id>/answer/
GET    login     login  login 403   302       read       /admin/sessions_app/actrequest/<object_id>/withdraw/
POST   login     login  login 403   302       read       /admin/sessions_app/actrequest/<object_id>/withdraw/
GET    login     login  login 403   200       read       /admin/sessions_app/dayfigure/costs/
POST   login     login  login 403   403       -          /admin/sessions_app/dayfigure/costs/
GET    login     login  login 403   200       collect    /admin/sessions_app/casefile/add/
POST   login     login  login 403   200       collect    /admin/sessions_app/casefile/add/
GET    login     login  login 403   302       collect    /admin/sessions_app/casefile/<object_id>/note/
POST   login     login  login 403   200       collect    /admin/sessions_app/casefile/<object_id>/note/
GET    login     login  login 403   302       collect    /admin/sessions_app/casefile/<object_id>/read/
POST   login     login  login 403   200       collect    /admin/sessions_app/casefile/<object_id>/read/
GET    login     login  login 403   200       seal       /admin/sessions_app/casefile/<object_id>/seal/
POST   login     login  login 403   200       seal       /admin/sessions_app/casefile/<object_id>/seal/
GET    login     login  login 403   404       bundle     /admin/sessions_app/casefile/<object_id>/bundle/
POST   login     login  login 403   403       -          /admin/sessions_app/casefile/<object_id>/bundle/
GET    login     login  login 403   200       read       /admin/sessions_app/invocation/<object_id>/live/
POST   login     login  login 403   403       -          /admin/sessions_app/invocation/<object_id>/live/
GET    login     login  login 403   200       stop       /admin/sessions_app/invocation/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/invocation/<object_id>/stop/
GET    login     login  login 403   200       read       /admin/sessions_app/tooljob/<object_id>/live/
POST   login     login  login 403   403       -          /admin/sessions_app/tooljob/<object_id>/live/
GET    login     login  login 403   200       stop       /admin/sessions_app/tooljob/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/tooljob/<object_id>/stop/
GET    login     login  login 403   200       stop       /admin/sessions_app/scheduledtask/<object_id>/stop/
POST   login     login  login 403   302       stop       /admin/sessions_app/scheduledtask/<object_id>/stop/
GET    login     login  login 403   200       stop-run   /admin/sessions_app/evaluation/<object_id>/stop/
POST   login     login  login 403   302       stop-run   /admin/sessions_app/evaluation/<object_id>/stop/
GET    login     login  login 403   200       revoke_*   /admin/sessions_app/sharelink/<object_id>/revoke/
POST   login     login  login 403   200       revoke_*   /admin/sessions_app/sharelink/<object_id>/revoke/
GET    login     login  login 403   200       add_*      /admin/sessions_app/apikey/add/
POST   login     login  login 403   200       add_*      /admin/sessions_app/apikey/add/
GET    login     login  login 403   200       revoke_*   /admin/sessions_app/apikey/<object_id>/revoke/
POST   login     login  login 403   200       revoke_*   /admin/sessions_app/apikey/<object_id>/revoke/

GET    login     login  login 403   200       read       /admin/axes/*/
POST   login     login  login 403   403       -          /admin/axes/*/
GET    login     login  login 403   403       -          /admin/axes/*/add/
POST   login     login  login 403   403       -          /admin/axes/*/add/
GET    login     login  login 403   200       read       /admin/axes/*/<object_id>/change/
POST   login     login  login 403   403       -          /admin/axes/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/axes/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/axes/*/<object_id>/history/
GET    login     login  login 403   403       -          /admin/axes/*/<object_id>/delete/
POST   login     login  login 403   403       -          /admin/axes/*/<object_id>/delete/
GET    login     login  login 302   302       -          /admin/axes/*/<object_id>/
POST   login     login  login 302   302       -          /admin/axes/*/<object_id>/

GET    login     login  login 403   200       read       /admin/auth/*/
POST   login     login  login 403   200       read       /admin/auth/*/
GET    login     login  login 403   200       view_user|change_user /admin/auth/user/agents/
POST   login     login  login 403   403       -          /admin/auth/user/agents/
GET    login     login  login 403   200       add+change /admin/auth/user/add/
POST   login     login  login 403   200       add+change /admin/auth/user/add/
GET    login     login  login 403   200       add_*      /admin/auth/*/add/
POST   login     login  login 403   200       add_*      /admin/auth/*/add/
GET    login     login  login 403   200       read       /admin/auth/*/<object_id>/change/
POST   login     login  login 403   200       change_*   /admin/auth/*/<object_id>/change/
GET    login     login  login 403   200       read       /admin/auth/*/<object_id>/history/
POST   login     login  login 403   200       read       /admin/auth/*/<object_id>/history/
GET    login     login  login 403   200       erase      /admin/auth/user/<object_id>/delete/
POST   login     login  login 403   200       erase      /admin/auth/user/<object_id>/delete/
GET    login     login  login 403   200       delete_*   /admin/auth/*/<object_id>/delete/
POST   login     login  login 403   200       delete_*   /admin/auth/*/<object_id>/delete/
GET    login     login  login 403   200       export-text /admin/auth/user/<id>/export/
POST   login     login  login 403   200       export-text /admin/auth/user/<id>/export/
GET    login     login  login 302   302       -          /admin/auth/*/<object_id>/
POST   login     login  login 302   302       -          /admin/auth/*/<object_id>/
GET    login     login  login 403   200       change_*   /admin/auth/*/<id>/password/
POST   login     login  login 403   200       change_*   /admin/auth/*/<id>/password/
"""
WITHOUT_ACCESS = {
    "GET /chat/new/<app_name>/": "404",
    "GET /embedded/<app_name>/": "404",
    "GET /embedded/<app_name>/<session_id>/": "404",
    "POST /chat/<session_id>/share/": "403",
    "GET /shared/<token>/": "404",
    "GET /shared/<token>/artifacts/<filename>": "404",
    "GET /shared/<token>/preview/<filename>": "404",
}
"""What the owner gets who may not use the agent (any more), where this is not what the table says of the owner."""
TO_HIDDEN = {
    "GET /chat/new/<app_name>/": "404",
    "GET /embedded/<app_name>/": "404",
    "GET /embedded/<app_name>/<session_id>/": "404",
    "GET /shared/<token>/": "404",
    "GET /shared/<token>/artifacts/<filename>": "404",
    "GET /shared/<token>/preview/<filename>": "404",
    # The owner's key and base are no part of a conversation.
    "POST /keys/<key_id>/revoke/": "302",
    "GET /knowledge/<base_id>/": "200",
    "POST /knowledge/<base_id>/": "302",
    "POST /knowledge/<base_id>/documents/<document_id>/delete/": "302",
}
"""What the owner gets of a hidden agent, where this is not what the table says of another person."""
TEXTS = {
    "answerrequest",
    "event",
    "artifact",
    "appstate",
    "userstate",
    "failure",
    "annotation",
    "casefile",
} | {"knowledgesearch", "memoryentry"}
"""Models whose rows are words of conversations: reading them needs that right, too."""
ADDED = {"remit", "annotation", "apikey", "knowledgebase", "knowledgedocument"}
"""Models whose rows staff add, and some of them delete."""
WORDS = {
    "read": "view_*|change_*",
    "text": "view_*+view_text|change_*+view_text",
    "add+text": "add_*+view_text",
    "delete+text": "delete_*+view_text",
    "collect": "add_*+view_*+view_text+view_session|add_*+view_*+view_text+change_session",
    "seal": "|".join(
        f"seal_*+export_data+view_*+view_text+{sessions}" for sessions in ("view_session", "change_session")
    ),
    "bundle": "|".join(
        f"export_data+view_*+view_text+{sessions}" for sessions in ("view_session", "change_session")
    ),
    "evalset": "export_data+view_*+view_text",
    "erase": "delete_*+erase_data",
    "export-text": "export_data+view_*+view_text|export_data+change_*+view_text",
    "unmask": "unmask_data+view_*+view_text|unmask_data+change_*+view_text",
    "erase-text": "erase_data+view_*+view_text|erase_data+change_*+view_text",
    "second": "view_*+erase_data+view_session+view_text|view_*+erase_data+change_session+view_text",
    "stop": "cancel_*+view_*|cancel_*+change_*|cancel_*+view_session",
    "stop-run": "cancel_*+view_*|cancel_*+change_*",
    "steer": "approve_answerrequest+view_*+view_text|approve_answerrequest+change_*+view_text",
    "resolve": "resolve_failure+view_*+view_text|resolve_failure+change_*+view_text",
    "correct": "correct_state+view_*+view_text|correct_state+change_*+view_text",
    "decide": "approve_*+view_*+view_text|approve_*+change_*+view_text",
    "add+change": "add_*+change_*",
    "export": "export_data+view_*|export_data+change_*",
    "any": "|".join(
        f"{verb}_{name}" + ("+view_text" if name in TEXTS else "")
        for name in (
            model._meta.model_name
            for model in admin.site._registry
            if model._meta.app_label == "sessions_app"
        )
        for verb in (
            "view",
            "change",
            "set",
            *(("add", "delete") if name in ADDED else ()),
        )
    )
    + "|view_error_detail",
}


@dataclass(frozen=True)
class Row:
    """Expected statuses at one address for one method."""

    method: str
    anonymous: str
    person: str
    owner: str
    staff: str
    superuser: str
    opened_by: str
    address: str

    def about(self, model: str) -> str:
        """The permissions that open the address of a page about `model`."""
        word = "text" if self.opened_by == "read" and model in TEXTS else self.opened_by
        return WORDS.get(word, word).replace("*", model)


@lru_cache(maxsize=1)
def rows() -> dict[tuple[str, str], Row]:
    lines = [line.split() for line in TABLE.strip().splitlines()[1:] if line.strip()]
    return {(line[0], line[-1]): Row(*line) for line in lines}
