"""Groups of staff that the first migration creates, and their permissions."""

from typing import Any

from django.apps.registry import Apps

ROWS = ('event', 'artifact', 'feedback', 'appstate', 'userstate', 'sharelink')
WORK = ('session', 'invocation', 'tooljob', 'scheduledtask')
RECORDS = (
    'legalhold', 'tombstone', 'staffact', 'sessionact', 'accountact', 'staffaccess', 'answerrequest', 'annotation'
)
FIGURES = ('dayfigure', 'failure', 'evaluation')
PROGRAMS = ('apikey', 'webhook', 'webhookdelivery')
GROUPS = {
    'auditor': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS, *FIGURES, *PROGRAMS)],
        ('session', 'view_text'),
        ('session', 'export_data'),
        ('invocation', 'view_error_detail'),
        ('annotation', 'add_annotation'),
        ('annotation', 'delete_annotation'),
    ],
    'operator': [
        *[(model, f'view_{model}') for model in (*WORK, *PROGRAMS, 'dayfigure', 'evaluation')],
        *[(model, f'cancel_{model}') for model in ('invocation', 'tooljob', 'scheduledtask', 'evaluation')],
        ('invocation', 'view_error_detail'),
        ('apikey', 'revoke_apikey'),
    ],
    'privacy officer': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS, *FIGURES, *PROGRAMS)],
        *[('session', f'{right}_data') for right in ('export', 'unmask', 'erase')],
        ('session', 'view_text'),
        ('sharelink', 'revoke_sharelink'),
        ('legalhold', 'set_legalhold'),
        ('legalhold', 'lift_legalhold'),
        ('apikey', 'revoke_apikey'),
    ],
}


def create_groups(apps: Apps, schema_editor: object) -> None:
    """Create the groups that do not exist. A group of the project's own with such a name stays as it is."""
    for name, rights in GROUPS.items():
        group, is_new = apps.get_model('auth', 'Group').objects.get_or_create(name=name)
        if is_new:
            group.permissions.set([permission(apps, model, codename) for model, codename in rights])


def permission(apps: Apps, model: str, codename: str, app_label: str = 'sessions_app') -> Any:
    """Return a permission, created if necessary: Django itself creates permissions after all migrations."""
    content_type, _ = apps.get_model('contenttypes', 'ContentType').objects.get_or_create(
        app_label=app_label, model=model
    )
    meta = apps.get_model(app_label, model)._meta
    name = dict(meta.permissions).get(codename) or f'Can {codename.partition("_")[0]} {meta.verbose_name}'
    permission, _ = apps.get_model('auth', 'Permission').objects.get_or_create(
        content_type=content_type, codename=codename, defaults={'name': name}
    )
    return permission
