from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations

from sessions_app.migrations._permissions import permission

TEXTS = ('session', 'event', 'artifact', 'feedback', 'appstate', 'userstate')


def keep_rights(apps, schema_editor):
    """Grant the new rights to those who had them as a part of another one: reading texts and erasing people."""
    pairs = [
        *[('sessions_app', model, f'{verb}_{model}', 'view_text') for model in TEXTS for verb in ('view', 'change')],
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


class Migration(migrations.Migration):

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('sessions_app', '0030_permissions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(keep_rights, migrations.RunPython.noop),
    ]
