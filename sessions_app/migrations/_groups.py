"""Groups of staff that the first migration creates, and their permissions."""

from typing import Any

from django.apps.registry import Apps
from django.conf import settings

APP = 'sessions_app'
ROWS = ('event', 'artifact', 'feedback', 'appstate', 'userstate', 'sharelink')
WORK = ('session', 'invocation', 'tooljob', 'scheduledtask')
RECORDS = (
    'legalhold', 'tombstone', 'staffact', 'sessionact', 'accountact', 'staffaccess', 'answerrequest', 'annotation',
    'actrequest', 'casefile',
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
        ('casefile', 'add_casefile'),
        ('casefile', 'seal_casefile'),
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
            group.permissions.set([_permission(apps, APP, model, codename) for model, codename in rights])
            if name == 'privacy officer':
                group.permissions.add(*_rights_on_people(apps))


def _rights_on_people(apps: Apps) -> list[Any]:
    """Return the permissions to see and delete accounts. Deleting also needs the right to erase data, and a reason."""
    app, model = settings.AUTH_USER_MODEL.lower().split('.')
    return [_permission(apps, app, model, f'{right}_{model}') for right in ('view', 'delete')]


def _permission(apps: Apps, app: str, model: str, codename: str) -> Any:
    """Return a permission, created if necessary: Django itself creates permissions after all migrations."""
    content_type, _ = apps.get_model('contenttypes', 'ContentType').objects.get_or_create(app_label=app, model=model)
    meta = apps.get_model(app, model)._meta
    name = dict(meta.permissions).get(codename) or f'Can {codename.partition("_")[0]} {meta.verbose_name}'
    permission, _ = apps.get_model('auth', 'Permission').objects.get_or_create(
        content_type=content_type, codename=codename, defaults={'name': name}
    )
    return permission
