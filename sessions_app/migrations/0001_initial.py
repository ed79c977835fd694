from datetime import UTC, datetime
import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, HashIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, Now

from sessions_app.migrations._groups import create_groups
from sessions_app.migrations._sql import run_file
from sessions_app.models import artifact, event, share_link
from sessions_app.models.past_attempts import PastAttemptsField

# The migrations of this app before they were squashed, without 0001_initial, whose name this one took.
REPLACED = """
    0002_memory_entry 0003_scheduled_task 0004_job_question 0005_rewinds 0006_cancelled_by 0007_longer_client_ids
    0008_running_jobs 0009_shared_state_rows 0010_event_chain 0011_sweeps 0012_data_protection 0013_credentials
    0014_error_detail 0015_credentials_index 0016_staff_acts 0017_person_usage 0018_event_numbers
    0019_saved_credential 0020_feedback 0021_uploads 0022_session_list 0023_session_list_indexes 0024_share_link
    0025_title_of_model 0026_audit_indexes 0027_rare_kinds 0028_acts 0029_answer_requests 0030_permissions
    0031_kept_rights 0032_call_errors 0033_figures 0034_past_attempts 0035_model_calls 0036_correct_state
    0037_staff_access 0038_failures 0039_annotations 0040_shared_state_index 0041_staff_groups 0042_api_keys
    0043_evaluations 0044_key_acts 0045_state_delta 0046_webhooks 0047_idempotent_requests 0048_resumable_uploads
    0049_cancelled_evaluations 0050_webhooks_of_groups 0051_jobs_by_status 0052_push_notifications
    0053_names_of_erasing_staff 0054_updates_in_place 0055_lost_attempts 0056_event_columns 0057_guarded_webhooks
    0058_figures_found_by_tokens_and_errors 0059_acts_of_yes_and_no 0060_limits_at_once
""".split()
END = datetime(9000, 1, 1, tzinfo=UTC)
ACTIONS = [
    ('add', 'Add'),
    ('change', 'Change'),
    ('delete', 'Delete'),
    ('restore', 'Restore'),
    ('stop', 'Stop'),
    ('retry', 'Retry'),
    ('rewind', 'Rewind'),
    ('switch', 'Switch'),
    ('answer', 'Answer'),
    ('approve', 'Approve'),
    ('reject', 'Reject'),
    ('withdraw', 'Withdraw'),
    ('lift', 'Lift'),
    ('share', 'Share'),
    ('revoke', 'Revoke'),
]
ACTOR_KINDS = [
    ('person', 'Person'),
    ('key', 'Key'),
    ('staff', 'Staff'),
    ('job', 'Job'),
    ('schedule', 'Schedule'),
    ('agent', 'Agent'),
    ('site', 'Site'),
]
WEBHOOK_EVENTS = [
    ('run.ended', 'A run has ended'),
    ('approval.needed', 'A call or a question waits for somebody'),
    ('job.ended', 'A job has ended'),
    ('task.changed', 'A task of A2A may have come to rest'),
    ('test', 'Somebody asked for a test'),
]


class Migration(migrations.Migration):

    replaces = [('sessions_app', name) for name in REPLACED]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        run_file('functions.sql'),
        migrations.CreateModel(
            name='AppState',
            fields=[
                ('app_name', models.CharField(max_length=128, primary_key=True, serialize=False)),
                ('state', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('app_name', models.CharField(max_length=128)),
                ('key', models.CharField(max_length=255)),
                ('title', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('state', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('initial_state', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('last_seq', models.BigIntegerField(db_default=0, default=0)),
                ('lease_token', models.BigIntegerField(db_default=0, default=0)),
                ('lease_owner', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('updated_at', models.DateTimeField(db_default=Now())),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_sessions', to=settings.AUTH_USER_MODEL)),
                ('log_hash', models.BinaryField(db_default=b'', default=b'')),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('is_pinned', models.BooleanField(db_default=False, default=False)),
                ('title_source', models.CharField(choices=[('message', 'Message'), ('model', 'Model'), ('person', 'Person')], db_default='message', default='message', max_length=16)),
                ('seen_seq', models.BigIntegerField(db_default=0, default=0, null=True)),
                ('last_event_at', models.DateTimeField(db_default=Now())),
            ],
            options={
                'indexes': [
                    models.Index(fields=['-updated_at'], name='session_by_last_use'),
                    models.Index(condition=models.Q(('archived_at', None), ('deleted_at', None)), fields=['user', '-updated_at', '-id'], name='session_in_list'),
                    models.Index(condition=models.Q(('archived_at__isnull', False), ('deleted_at', None)), fields=['user', '-updated_at', '-id'], name='session_archived'),
                    models.Index(condition=models.Q(('archived_at', None), ('deleted_at', None), ('is_pinned', True)), fields=['user'], name='session_pinned'),
                    models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['deleted_at'], name='session_deleted'),
                    models.Index(condition=models.Q(('key', Cast('id', models.TextField())), _negated=True), fields=['key'], name='session_by_key'),
                    GinIndex(SearchVector('title', config='simple'), condition=models.Q(('title_source', 'message'), _negated=True), name='session_title_words'),
                    models.Index(condition=models.Q(('lease_owner', ''), _negated=True), fields=['id'], name='session_held'),
                ],
                'constraints': [models.UniqueConstraint(fields=('app_name', 'user', 'key'), name='session_unique_key')],
                'permissions': [
                    ('correct_state', 'Can correct the state of sessions'),
                    ('view_text', 'Can read the words of conversations'),
                    ('export_data', 'Can export conversations and data of people'),
                    ('unmask_data', 'Can see masked values'),
                    ('erase_data', 'Can erase conversations and data of people'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Invocation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('invocation_id', models.CharField(max_length=64)),
                ('client_id', models.CharField(max_length=160)),
                ('message', models.JSONField()),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('completed', 'Completed'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], db_default='queued', max_length=16)),
                ('owner', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('error_code', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('error_message', models.TextField(blank=True, db_default='', default='')),
                ('cancel_requested_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('cancelled_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name='invocations', to='sessions_app.session')),
                ('cancel_reason', models.TextField(blank=True, db_default='', default='')),
                ('credentials', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('error_detail', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('cancelled_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('actor_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('actor_kind', models.CharField(blank=True, choices=ACTOR_KINDS, db_default='', default='', max_length=16)),
                ('actor_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('reason', models.TextField(blank=True, db_default='', default='')),
                ('past_attempts', PastAttemptsField(db_default=models.Value([], models.JSONField()), default=list, editable=False)),
                ('state_delta', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('status', 'queued')), fields=['session', 'id'], name='invocation_queued'),
                    models.Index(condition=models.Q(('credentials', ''), _negated=True), fields=['created_at'], name='invocation_with_credentials'),
                    models.Index(fields=['client_id'], name='invocation_by_client_id'),
                    models.Index(condition=models.Q(('status', 'completed'), _negated=True), fields=['status', '-id'], name='invocation_not_completed'),
                    GinIndex(SearchVector('error_message', config='simple'), condition=models.Q(('error_message', ''), _negated=True), name='invocation_error_words'),
                    models.Index(condition=models.Q(('cancelled_by__isnull', False)), fields=['cancelled_by'], name='invocation_by_canceller'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'client_id'), name='invocation_unique_client_id'),
                    models.UniqueConstraint(condition=models.Q(('status', 'running')), fields=('session',), name='invocation_one_running'),
                    models.UniqueConstraint(fields=('invocation_id',), name='invocation_unique_id'),
                ],
                'permissions': [
                    ('cancel_invocation', 'Can stop invocation'),
                    ('view_error_detail', 'Can view details of errors of invocations and jobs'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('body', models.JSONField()),
                ('before', models.JSONField(null=True)),
                ('event_id', models.GeneratedField(db_persist=True, expression=KeyTextTransform('id', 'body'), output_field=models.TextField(null=True))),
                ('author', models.GeneratedField(db_persist=True, expression=KeyTextTransform('author', 'body'), output_field=models.TextField(null=True))),
                ('invocation_id', models.GeneratedField(db_persist=True, expression=KeyTextTransform('invocationId', 'body'), output_field=models.TextField(null=True))),
                ('kind', models.GeneratedField(db_persist=True, expression=event._OfBody('adk_event_kind', models.TextField()), output_field=models.TextField(choices=[('message', 'Message'), ('call', 'Call'), ('response', 'Response'), ('error', 'Error'), ('state', 'State')], null=True))),
                ('text', models.GeneratedField(db_persist=True, expression=event._OfBody('adk_event_text', models.TextField()), output_field=models.TextField(null=True))),
                ('happened_at', models.GeneratedField(db_persist=True, expression=event._OfBody('adk_event_time', models.DateTimeField()), output_field=models.DateTimeField(null=True))),
                ('prompt_tokens', models.GeneratedField(db_persist=True, expression=event._OfBody('adk_event_prompt_tokens', models.IntegerField()), output_field=models.IntegerField(null=True))),
                ('output_tokens', models.GeneratedField(db_persist=True, expression=event._OfBody('adk_event_output_tokens', models.IntegerField()), output_field=models.IntegerField(null=True))),
                ('session', models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name='events', to='sessions_app.session')),
                ('hash', models.BinaryField(null=True)),
                ('model_call', models.JSONField(null=True)),
            ],
            options={
                'ordering': ['session', 'seq'],
                'indexes': [
                    models.Index(condition=models.Q(('body__actions__has_key', 'rewindBeforeInvocationId')), fields=['session', 'seq'], name='event_rewinds'),
                    GinIndex(SearchVector(Left('text', 100000), config='simple'), condition=models.Q(('text__isnull', False)), name='event_words'),
                    HashIndex(fields=['event_id'], name='event_by_id'),
                    models.Index(condition=models.Q(('kind__in', ('error', 'state'))), fields=['kind', '-id'], name='event_of_rare_kind'),
                    models.Index(condition=models.Q(('body__actions__stateDelta__regex', '"(app|user):')), fields=['id'], name='event_shared_state'),
                ],
                'constraints': [models.UniqueConstraint(fields=('session', 'seq'), name='event_unique_seq')],
            },
        ),
        migrations.CreateModel(
            name='Artifact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(max_length=128)),
                ('filename', models.CharField(max_length=1024)),
                ('version', models.PositiveIntegerField()),
                ('mime_type', models.CharField(max_length=255)),
                ('part_kind', models.CharField(choices=[('text', 'text'), ('blob', 'blob')], max_length=8)),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('file', models.FileField(max_length=255, upload_to=artifact.storage_path)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_artifacts', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='artifacts', to='sessions_app.session')),
                ('is_upload', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('app_name', 'user', 'session', 'filename', 'version'), name='artifact_unique_version', nulls_distinct=False),
                ],
            },
        ),
        migrations.CreateModel(
            name='ToolJob',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('invocation_id', models.CharField(max_length=64)),
                ('call_id', models.CharField(max_length=128)),
                ('tool_name', models.CharField(max_length=128)),
                ('task_name', models.CharField(max_length=255)),
                ('agent_name', models.CharField(max_length=128)),
                ('args', models.JSONField(default=dict)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], db_default='queued', max_length=16)),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('progress_done', models.FloatField(db_default=0, default=0)),
                ('progress_total', models.FloatField(db_default=0, default=0)),
                ('progress_message', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('result', models.JSONField(blank=True, null=True)),
                ('error', models.TextField(blank=True, db_default='', default='')),
                ('artifacts', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('worker', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('cancel_requested_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='jobs', to='sessions_app.session')),
                ('run_at', models.DateTimeField(blank=True, null=True)),
                ('answers', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list)),
                ('question', models.JSONField(blank=True, null=True)),
                ('cancel_reason', models.TextField(blank=True, db_default='', default='')),
                ('cancelled_by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('sends', models.PositiveIntegerField(db_default=0, default=0)),
                ('error_detail', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('cancelled_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('past_attempts', PastAttemptsField(db_default=models.Value([], models.JSONField()), default=list, editable=False)),
                ('lost_attempts', models.PositiveIntegerField(db_default=0, default=0)),
            ],
            options={
                'indexes': [
                    models.Index(fields=['session', 'created_at'], name='tool_job_of_session'),
                    models.Index(condition=models.Q(('delivered_at__isnull', True)), fields=['created_at'], name='tool_job_open'),
                    models.Index(condition=models.Q(('status', 'running')), fields=['heartbeat_at'], name='tool_job_running'),
                    models.Index(fields=['-created_at', '-id'], name='tool_job_by_age'),
                    models.Index(fields=['tool_name', '-created_at'], name='tool_job_of_tool'),
                    models.Index(fields=['call_id'], name='tool_job_by_call'),
                    models.Index(fields=['invocation_id'], name='tool_job_by_invocation'),
                    GinIndex(SearchVector('error', config='simple'), condition=models.Q(('error', ''), _negated=True), name='tool_job_error_words'),
                    models.Index(fields=['status', '-created_at'], name='tool_job_of_status'),
                    models.Index(condition=models.Q(('lost_attempts__gt', 0)), fields=['-created_at', '-id'], name='tool_job_lost'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'call_id'), name='tool_job_unique_call'),
                    models.CheckConstraint(condition=models.Q(('run_at__lt', END)), name='tool_job_readable_start'),
                ],
                'permissions': [('cancel_tooljob', 'Can stop tool job')],
            },
        ),
        migrations.CreateModel(
            name='UserState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(max_length=128)),
                ('state', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_states', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('app_name', 'user'), name='user_state_unique')],
            },
        ),
        migrations.CreateModel(
            name='MemoryEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(max_length=128)),
                ('event_id', models.CharField(max_length=255)),
                ('author', models.CharField(max_length=255)),
                ('said_at', models.DateTimeField()),
                ('content', models.JSONField()),
                ('words', models.TextField()),
                ('vector', models.GeneratedField(db_persist=True, expression=SearchVector('words', config='simple'), output_field=SearchVectorField())),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='memory_entries', to='sessions_app.session')),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_memory_entries', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'memory entries',
                'indexes': [
                    GinIndex(fields=['vector'], name='memory_entry_words'),
                    models.Index(fields=['app_name', 'user'], name='memory_entry_of_user'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'event_id'), name='memory_entry_unique_event'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ScheduledTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('invocation_id', models.CharField(max_length=64)),
                ('call_id', models.CharField(max_length=128)),
                ('agent_name', models.CharField(max_length=128)),
                ('task', models.TextField()),
                ('start_at', models.DateTimeField()),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('every', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('time_zone', models.CharField(max_length=64)),
                ('runs', models.PositiveIntegerField(db_default=0, default=0)),
                ('most_runs', models.PositiveIntegerField(blank=True, null=True)),
                ('ends_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('last_run_at', models.DateTimeField(blank=True, null=True)),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('cancelled_by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='scheduled_tasks', to='sessions_app.session')),
                ('error', models.TextField(blank=True, db_default='', default='')),
                ('cancelled_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
            ],
            options={
                'indexes': [
                    models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='scheduled_task_next'),
                    models.Index(fields=['session', 'next_at'], name='scheduled_task_of_session'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'call_id'), name='scheduled_task_unique_call'),
                    models.CheckConstraint(condition=models.Q(('ends_at__lt', END), ('next_at__lt', END), ('start_at__lt', END)), name='scheduled_task_readable_times'),
                ],
                'permissions': [('cancel_scheduledtask', 'Can stop scheduled task')],
            },
        ),
        migrations.CreateModel(
            name='LegalHold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('set_at', models.DateTimeField(db_default=Now())),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
                ('lift_reason', models.TextField(blank=True, db_default='', default='')),
                ('lifted_by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='legal_holds', to='sessions_app.session')),
                ('set_by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('lifted_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('set_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
            ],
            options={
                'permissions': [
                    ('set_legalhold', 'Can set legal hold'),
                    ('lift_legalhold', 'Can lift legal hold'),
                ],
                'default_permissions': ('view',),
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('session__isnull', True), ('user__isnull', False)), models.Q(('session__isnull', False), ('user__isnull', True)), _connector='OR'), name='legal_hold_one_subject', violation_error_message='Give a session or a user, not both.'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('session', 'Session'), ('person', 'Person')], max_length=16)),
                ('subject_id', models.CharField(max_length=64)),
                ('user_id', models.CharField(max_length=64)),
                ('counts', models.JSONField(default=dict)),
                ('reason', models.TextField()),
                ('started_at', models.DateTimeField(db_default=Now())),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
            ],
            options={
                'default_permissions': ('view',),
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True)), fields=('kind', 'subject_id'), name='tombstone_one_unfinished'),
                ],
            },
        ),
        migrations.CreateModel(
            name='StaffAct',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor_kind', models.CharField(blank=True, choices=ACTOR_KINDS, db_default='', default='', max_length=16)),
                ('actor_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('actor_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('action', models.CharField(choices=ACTIONS, max_length=16)),
                ('subject_kind', models.CharField(max_length=64)),
                ('subject_id', models.CharField(max_length=64)),
                ('reason', models.TextField(blank=True, db_default='', default='')),
                ('at', models.DateTimeField(db_default=Now())),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['subject_kind', 'subject_id'], name='staff_act_subject')],
            },
        ),
        migrations.CreateModel(
            name='PersonUsage',
            fields=[
                ('user', models.OneToOneField(on_delete=models.CASCADE, primary_key=True, related_name='adk_usage', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('day', models.DateField(null=True)),
                ('tokens', models.BigIntegerField(db_default=0, default=0)),
                ('cost', models.FloatField(db_default=0.0, default=0.0)),
                ('artifact_bytes', models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name='SavedCredential',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(max_length=128)),
                ('key', models.CharField(max_length=64)),
                ('encrypted', models.TextField(editable=False)),
                ('saved_at', models.DateTimeField()),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_credentials', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['saved_at'], name='saved_credential_age')],
                'constraints': [
                    models.UniqueConstraint(fields=('user', 'app_name', 'key'), name='saved_credential_unique'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('rating', models.CharField(choices=[('good', 'Good'), ('bad', 'Bad')], max_length=8)),
                ('comment', models.TextField(blank=True, db_default='', default='', max_length=2000)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='feedback', to='sessions_app.session')),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'feedback',
                'constraints': [
                    models.UniqueConstraint(fields=('session', 'seq', 'user'), name='feedback_one_per_event'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(default=share_link.new_token, editable=False, max_length=22, unique=True)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='share_links', to='sessions_app.session')),
            ],
            options={
                'permissions': [('revoke_sharelink', 'Can revoke share link')],
                'default_permissions': ('view',),
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('revoked_at', None)), fields=('session',), name='share_link_one_active'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SessionAct',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor_kind', models.CharField(blank=True, choices=ACTOR_KINDS, db_default='', default='', max_length=16)),
                ('actor_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('actor_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('action', models.CharField(choices=ACTIONS, max_length=16)),
                ('subject_kind', models.CharField(max_length=64)),
                ('subject_id', models.CharField(max_length=128)),
                ('seq', models.BigIntegerField(blank=True, null=True)),
                ('reason', models.TextField(blank=True, db_default='', default='')),
                ('at', models.DateTimeField(db_default=Now())),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='acts', to='sessions_app.session')),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['session', '-id'], name='session_act_of_session'),
                    models.Index(condition=models.Q(('seq__isnull', False)), fields=['session', 'seq'], name='session_act_event'),
                ],
            },
        ),
        migrations.CreateModel(
            name='AnswerRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('invocation_id', models.CharField(max_length=64)),
                ('call_id', models.CharField(max_length=160)),
                ('kind', models.CharField(choices=[('confirmation', 'Approval'), ('call', 'Answer to a call'), ('choice', 'Choice'), ('credential', 'Credential'), ('question', 'Question of a job')], max_length=16)),
                ('agent_name', models.CharField(max_length=128)),
                ('tool_name', models.CharField(max_length=128)),
                ('effect', models.CharField(max_length=300)),
                ('answered_by', models.CharField(max_length=200)),
                ('asked_at', models.DateTimeField()),
                ('escalated_at', models.DateTimeField(blank=True, null=True)),
                ('job', models.ForeignKey(null=True, on_delete=models.CASCADE, related_name='answer_requests', to='sessions_app.tooljob')),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='answer_requests', to='sessions_app.session')),
            ],
            options={
                'verbose_name': 'request for an answer',
                'verbose_name_plural': 'approvals inbox',
                'permissions': [('approve_answerrequest', 'Can approve calls and answer questions of jobs')],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['asked_at', 'id'], name='answer_request_by_age')],
                'constraints': [models.UniqueConstraint(fields=('session', 'call_id'), name='answer_request_of_call')],
            },
        ),
        migrations.CreateModel(
            name='Remit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app_name', models.CharField(blank=True, help_text='Empty for all apps.', max_length=128, verbose_name='app')),
                ('group', models.ForeignKey(on_delete=models.PROTECT, related_name='+', to='auth.group')),
                ('people', models.ForeignKey(blank=True, help_text='Group of the people whose sessions are seen; empty for everybody.', null=True, on_delete=models.PROTECT, related_name='+', to='auth.group')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('group', 'app_name', 'people'), name='remit_once', nulls_distinct=False),
                ],
            },
        ),
        migrations.CreateModel(
            name='CallError',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('call_id', models.TextField()),
                ('tool_name', models.TextField()),
                ('error', models.CharField(max_length=200)),
                ('detail', models.TextField(editable=False)),
                ('at', models.DateTimeField(db_default=Now())),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='call_errors', to='sessions_app.session')),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['session', 'seq'], name='call_error_of_event')],
            },
        ),
        migrations.CreateModel(
            name='FiguresProgress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('newest', models.DateTimeField()),
                ('oldest', models.DateTimeField(null=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DayFigure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('app_name', models.CharField(max_length=128)),
                ('metric', models.CharField(choices=[('people', 'People'), ('invocations', 'Invocations'), ('first_word', 'First Word'), ('calls', 'Calls'), ('failures', 'Failures'), ('tokens', 'Tokens'), ('cost', 'Cost')], max_length=16)),
                ('name', models.CharField(default='', max_length=128)),
                ('detail', models.CharField(default='', max_length=128)),
                ('amount', models.FloatField(default=0.0)),
            ],
            options={
                'verbose_name_plural': 'overview',
                'default_permissions': ('view',),
                'constraints': [
                    models.UniqueConstraint(fields=('day', 'metric', 'app_name', 'name', 'detail'), name='day_figure_unique'),
                ],
                'verbose_name': 'figure of a day',
            },
        ),
        migrations.CreateModel(
            name='SessionFigures',
            fields=[
                ('session', models.OneToOneField(on_delete=models.CASCADE, primary_key=True, related_name='figures', serialize=False, to='sessions_app.session')),
                ('seq', models.BigIntegerField(default=0)),
                ('tokens', models.BigIntegerField(default=0)),
                ('cost', models.FloatField(default=0.0)),
                ('errors', models.PositiveIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0)),
                ('labels', ArrayField(base_field=models.TextField(), default=list, size=None)),
                ('outcomes', models.JSONField(default=dict)),
                ('invocation_id', models.TextField(default='')),
                ('began_at', models.DateTimeField(null=True)),
                ('has_word', models.BooleanField(default=True)),
                ('is_settled', models.BooleanField(default=False)),
                ('counted_at', models.DateTimeField(db_default=Now())),
            ],
            options={
                'default_permissions': (),
                'indexes': [
                    GinIndex(fields=['labels'], name='session_figures_labels'),
                    models.Index(condition=models.Q(('cost__gt', 0)), fields=['-cost'], name='session_figures_cost'),
                    models.Index(condition=models.Q(('is_settled', False)), fields=['counted_at'], name='session_figures_unsettled'),
                    models.Index(fields=['-tokens'], name='session_figures_tokens'),
                    models.Index(condition=models.Q(('errors__gt', 0)), fields=['session'], name='session_figures_errors'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ActiveDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('day', 'user'), name='active_day_unique')],
            },
        ),
        migrations.CreateModel(
            name='Failure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('day', models.DateField()),
                ('tool_name', models.CharField(max_length=128)),
                ('cause', models.CharField(max_length=128)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='failures', to='sessions_app.session')),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['-day', '-id'], name='failure_by_day'),
                    models.Index(fields=['tool_name', 'cause', '-day', '-id'], name='failure_of_tool'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RequestText',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('text', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='SessionText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_id', models.UUIDField(db_index=True)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='request_texts', to='sessions_app.session')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('session', 'text_id'), name='session_text_unique')],
            },
        ),
        migrations.CreateModel(
            name='StaffAccess',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor_kind', models.CharField(blank=True, choices=ACTOR_KINDS, db_default='', default='', max_length=16)),
                ('actor_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('actor_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('kind', models.CharField(choices=[('open', 'Open'), ('download', 'Download'), ('search', 'Search'), ('export', 'Export'), ('unmask', 'Unmask')], max_length=16)),
                ('subject_kind', models.CharField(max_length=64)),
                ('subject_id', models.CharField(blank=True, max_length=64)),
                ('detail', models.CharField(blank=True, max_length=300)),
                ('reason', models.TextField(blank=True)),
                ('at', models.DateTimeField(db_default=Now())),
            ],
            options={
                'verbose_name_plural': 'staff accesses',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['subject_kind', 'subject_id'], name='staff_access_subject'),
                    models.Index(fields=['at'], name='staff_access_at'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Annotation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField(blank=True, null=True)),
                ('label', models.CharField(blank=True, max_length=64)),
                ('note', models.TextField(blank=True, max_length=2000)),
                ('by_name', models.CharField(max_length=254)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('by', models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='annotations', to='sessions_app.session')),
            ],
            options={
                'default_permissions': ('view', 'add', 'delete'),
                'indexes': [models.Index(fields=['label', 'session'], name='annotation_by_label')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=12)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', ArrayField(base_field=models.CharField(choices=[('read', 'Read conversations, files and jobs'), ('run', 'Send messages and files, stop and retry'), ('answer', 'Answer calls, questions and approvals'), ('manage', 'Create, change and delete conversations, schedules, keys and webhooks')], max_length=16), size=None)),
                ('requests_per_minute', models.PositiveIntegerField(db_default=0, default=0)),
                ('tokens_per_day', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('people', models.ForeignKey(blank=True, null=True, on_delete=models.PROTECT, related_name='+', to='auth.group')),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_api_keys', to=settings.AUTH_USER_MODEL)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name='made', to='sessions_app.apikey')),
                ('revoked_by_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
            ],
            options={
                'verbose_name': 'API key',
                'permissions': [('revoke_apikey', 'Can revoke API key')],
                'default_permissions': ('view', 'add'),
            },
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('app_name', models.CharField(max_length=128)),
                ('set_id', models.CharField(max_length=200)),
                ('config', models.JSONField()),
                ('case_count', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('passed', models.PositiveIntegerField(db_default=0)),
                ('failed', models.PositiveIntegerField(db_default=0)),
                ('broken', models.PositiveIntegerField(db_default=0)),
                ('previous', models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name='+', to='sessions_app.evaluation')),
                ('cancelled', models.PositiveIntegerField(db_default=0)),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(fields=['-created_at', '-id'], name='evaluation_by_age'),
                    models.Index(fields=['app_name', 'set_id', '-finished_at'], name='evaluation_of_set'),
                    models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['created_at'], name='evaluation_open'),
                ],
                'permissions': [('cancel_evaluation', 'Can stop evaluation')],
            },
        ),
        migrations.CreateModel(
            name='EvaluatedCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('eval_id', models.CharField(max_length=200)),
                ('case', models.JSONField()),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('passed', 'Passed'), ('failed', 'Failed'), ('broken', 'Broken'), ('cancelled', 'Cancelled')], db_default='queued', max_length=16)),
                ('attempts', models.PositiveIntegerField(db_default=0)),
                ('actual', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('results', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('error', models.TextField(blank=True, db_default='')),
                ('error_detail', models.TextField(blank=True, db_default='')),
                ('sends', models.PositiveIntegerField(db_default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('session', models.ForeignKey(null=True, on_delete=models.CASCADE, related_name='+', to='sessions_app.session')),
                ('evaluation', models.ForeignKey(on_delete=models.CASCADE, related_name='cases', to='sessions_app.evaluation')),
            ],
            options={
                'default_permissions': (),
                'indexes': [
                    models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['evaluation'], name='evaluated_case_open'),
                ],
                'constraints': [models.UniqueConstraint(fields=('evaluation', 'eval_id'), name='evaluated_case_once')],
            },
        ),
        migrations.CreateModel(
            name='KeyUsage',
            fields=[
                ('key', models.OneToOneField(on_delete=models.CASCADE, primary_key=True, related_name='usage', serialize=False, to='sessions_app.apikey')),
                ('day', models.DateField()),
                ('tokens', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='AccountAct',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor_kind', models.CharField(blank=True, choices=ACTOR_KINDS, db_default='', default='', max_length=16)),
                ('actor_id', models.CharField(blank=True, db_default='', default='', max_length=64)),
                ('actor_name', models.CharField(blank=True, db_default='', default='', max_length=254)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('action', models.CharField(choices=ACTIONS, max_length=16)),
                ('subject_kind', models.CharField(max_length=64)),
                ('subject_id', models.CharField(max_length=128)),
                ('reason', models.TextField(blank=True, db_default='', default='')),
                ('at', models.DateTimeField(db_default=Now())),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['subject_kind', 'subject_id'], name='account_act_subject')],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2000)),
                ('secret', models.TextField(editable=False)),
                ('events', ArrayField(base_field=models.CharField(choices=WEBHOOK_EVENTS, max_length=32), size=None)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('disabled_at', models.DateTimeField(blank=True, null=True)),
                ('disabled_reason', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('made_by', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='webhooks', to='sessions_app.apikey')),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='adk_webhooks', to=settings.AUTH_USER_MODEL)),
                ('people', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='+', to='auth.group')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name='+', to='sessions_app.session')),
                ('task_id', models.CharField(blank=True, db_default='', default='', max_length=128)),
            ],
            options={
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('event', models.CharField(choices=WEBHOOK_EVENTS, max_length=32)),
                ('subject', models.CharField(max_length=160)),
                ('payload', models.JSONField()),
                ('attempts', models.PositiveIntegerField(db_default=0, default=0)),
                ('next_at', models.DateTimeField(blank=True, db_default=Now(), null=True)),
                ('response_status', models.PositiveIntegerField(blank=True, null=True)),
                ('error', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('webhook', models.ForeignKey(on_delete=models.CASCADE, related_name='deliveries', to='sessions_app.webhook')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'default_permissions': ('view',),
                'indexes': [
                    models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='webhook_delivery_due'),
                    models.Index(fields=['webhook', '-id'], name='webhook_delivery_of_webhook'),
                ],
            },
        ),
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('caller', models.CharField(max_length=64)),
                ('key', models.CharField(max_length=128)),
                ('fingerprint', models.CharField(max_length=64)),
                ('attempt', models.UUIDField()),
                ('locked_until', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.TextField(db_default='', default='')),
                ('location', models.TextField(db_default='', default='')),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('session', models.ForeignKey(null=True, on_delete=models.CASCADE, related_name='idempotent_requests', to='sessions_app.session')),
                ('user', models.ForeignKey(on_delete=models.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['created_at'], name='idempotent_request_by_age')],
                'constraints': [models.UniqueConstraint(fields=('caller', 'key'), name='idempotent_request_key')],
            },
        ),
        migrations.CreateModel(
            name='ResumableUpload',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('filename', models.CharField(max_length=1024)),
                ('length', models.PositiveBigIntegerField()),
                ('offset', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('chunks', models.PositiveIntegerField(db_default=0, default=0)),
                ('created_at', models.DateTimeField(db_default=Now())),
                ('artifact', models.ForeignKey(null=True, on_delete=models.CASCADE, related_name='+', to='sessions_app.artifact')),
                ('session', models.ForeignKey(on_delete=models.CASCADE, related_name='resumable_uploads', to='sessions_app.session')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        # Room in each page for new versions of its rows: an append then changes its session's row without touching an index.
        migrations.RunSQL('ALTER TABLE sessions_app_session SET (fillfactor = 80)', migrations.RunSQL.noop),
        run_file('webhooks.sql'),
        run_file('triggers.sql'),
        run_file('guards.sql'),
        migrations.RunPython(create_groups, migrations.RunPython.noop),
    ]
