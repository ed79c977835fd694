"""Models of the site, with the rules enforced by the database."""

from sessions_app.base.actors import ActionKind
from sessions_app.base.statuses import CaseStatus, InvocationStatus, JobStatus
from sessions_app.models.account_act import AccountAct
from sessions_app.models.act_request import ActRequest, ActRequestStep, GuardedAct, RequestStage, StepKind
from sessions_app.models.annotation import Annotation
from sessions_app.models.answer_request import AnswerRequest, RequestKind
from sessions_app.models.api_key import ApiKey, Scope
from sessions_app.models.artifact import Artifact
from sessions_app.models.call_error import CallError
from sessions_app.models.case_file import CaseEntry, CaseFile, CaseItem, EntryKind
from sessions_app.models.evaluation import EvaluatedCase, Evaluation
from sessions_app.models.event import Event, EventKind, EventWords
from sessions_app.models.feedback import Feedback, Rating
from sessions_app.models.figures import (
    ActiveDay,
    DayFigure,
    DayMetric,
    Failure,
    FailureCause,
    FiguresProgress,
    SessionFigures,
)
from sessions_app.models.idempotent_request import IdempotentRequest
from sessions_app.models.invocation import Invocation
from sessions_app.models.knowledge import (
    KnowledgeBase,
    KnowledgeDocument,
    KnowledgePassage,
    KnowledgeSearch,
    KnowledgeUse,
    KnowledgeVector,
    KnowledgeVersion,
    VersionStatus,
)
from sessions_app.models.legal_hold import LegalHold
from sessions_app.models.linked_account import LinkedAccount
from sessions_app.models.memory import EmbeddingModel, MemoryEntry, MemoryVector
from sessions_app.models.pack import Pack
from sessions_app.models.recorded_end import RecordedEnd
from sessions_app.models.remembering import MemoryPause, RememberedSession
from sessions_app.models.remit import Remit
from sessions_app.models.request_text import RequestText, SessionText
from sessions_app.models.saved_credential import SavedCredential
from sessions_app.models.scheduled_task import ScheduledTask
from sessions_app.models.session import Session
from sessions_app.models.session_act import SessionAct
from sessions_app.models.share_link import ShareLink
from sessions_app.models.slack_thread import SlackPost, SlackThread
from sessions_app.models.staff_access import AccessKind, StaffAccess
from sessions_app.models.staff_act import StaffAct
from sessions_app.models.state import AppState, UserState
from sessions_app.models.tombstone import ErasedKind, ErasedSession, Tombstone
from sessions_app.models.tool_job import ToolJob
from sessions_app.models.usage import KeyUsage, PersonUsage
from sessions_app.models.waiting_mail import WaitingMail
from sessions_app.models.webhook import Webhook, WebhookDelivery, WebhookEvent
