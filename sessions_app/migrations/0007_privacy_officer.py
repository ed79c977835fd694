"""The group "privacy officer" opens the list of people, from which it exports and erases."""

from typing import Any

from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations

from sessions_app.migrations._groups import permission

RIGHTS = ('view', 'delete')


def open_people(apps: Apps, schema_editor: Any) -> None:
    """Add the permissions on accounts. Deleting a person also needs the right to erase data, and a reason."""
    group = apps.get_model('auth', 'Group').objects.filter(name='privacy officer').first()
    if group is None:
        return
    app_label, model = settings.AUTH_USER_MODEL.lower().split('.')
    # Not a group of the project's own with this name.
    if group.permissions.filter(codename='erase_data').exists():
        group.permissions.add(*(permission(apps, model, f'{right}_{model}', app_label) for right in RIGHTS))


class Migration(migrations.Migration):
    """Data only."""

    dependencies = [
        ('sessions_app', '0006_chain_in_database'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunPython(open_people, migrations.RunPython.noop)]
