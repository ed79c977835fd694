from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations

ROWS = ('event', 'artifact', 'feedback', 'appstate', 'userstate', 'sharelink')
WORK = ('session', 'invocation', 'tooljob', 'scheduledtask')
RECORDS = ('legalhold', 'tombstone', 'staffact', 'sessionact', 'answerrequest')
GROUPS = {
    'auditor': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS)],
        ('session', 'view_text'),
        ('session', 'export_data'),
        ('invocation', 'view_error_detail'),
    ],
    'operator': [
        *[(model, f'view_{model}') for model in WORK],
        *[(model, f'cancel_{model}') for model in WORK if model != 'session'],
        ('invocation', 'view_error_detail'),
    ],
    'privacy officer': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS)],
        *[('session', f'{right}_data') for right in ('export', 'unmask', 'erase')],
        ('session', 'view_text'),
        ('sharelink', 'revoke_sharelink'),
        ('legalhold', 'set_legalhold'),
        ('legalhold', 'lift_legalhold'),
    ],
}


def create_groups(apps, schema_editor):
    """Create the groups that do not exist. A group of the site's own with such a name stays as it is."""
    for name, rights in GROUPS.items():
        group, is_new = apps.get_model('auth', 'Group').objects.get_or_create(name=name)
        if is_new:
            group.permissions.set([permission(apps, model, codename) for model, codename in rights])


def keep_rights(apps, schema_editor):
    """Grant the new rights to those who had them as a part of another one: reading texts and erasing people."""
    texts = ('session', *ROWS[:-1])
    pairs = [
        *[('sessions_app', model, f'{verb}_{model}', 'view_text') for model in texts for verb in ('view', 'change')],
        ('auth', 'user', 'delete_user', 'erase_data'),
    ]
    users = getattr(get_user_model(), 'user_permissions', None) and apps.get_model(settings.AUTH_USER_MODEL)
    for app, model, codename, right in pairs:
        had = apps.get_model('auth', 'Permission').objects.filter(
            content_type__app_label=app, content_type__model=model, codename=codename
        )
        for group in apps.get_model('auth', 'Group').objects.filter(permissions__in=had):
            group.permissions.add(permission(apps, 'session', right))
        for user in users.objects.filter(user_permissions__in=had) if users else ():
            user.user_permissions.add(permission(apps, 'session', right))


def permission(apps, model, codename):
    """Return a permission of this app; Django itself creates it only after all migrations."""
    content_type, _ = apps.get_model('contenttypes', 'ContentType').objects.get_or_create(
        app_label='sessions_app', model=model
    )
    meta = apps.get_model('sessions_app', model)._meta
    name = dict(meta.permissions).get(codename) or f'Can {codename.partition("_")[0]} {meta.verbose_name}'
    made, _ = apps.get_model('auth', 'Permission').objects.get_or_create(
        content_type=content_type, codename=codename, defaults={'name': name}
    )
    return made


class Migration(migrations.Migration):

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('sessions_app', '0030_permissions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # First: a new group must not get the rights of the groups that a site has.
        migrations.RunPython(keep_rights, migrations.RunPython.noop),
        migrations.RunPython(create_groups, migrations.RunPython.noop),
    ]
