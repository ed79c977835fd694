from django.db import migrations

from sessions_app.migrations._permissions import permission

ROWS = ('event', 'artifact', 'feedback', 'appstate', 'userstate', 'sharelink')
WORK = ('session', 'invocation', 'tooljob', 'scheduledtask')
RECORDS = ('legalhold', 'tombstone', 'staffact', 'sessionact', 'staffaccess', 'answerrequest', 'annotation')
FIGURES = ('dayfigure', 'failure')
GROUPS = {
    'auditor': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS, *FIGURES)],
        ('session', 'view_text'),
        ('session', 'export_data'),
        ('invocation', 'view_error_detail'),
        ('annotation', 'add_annotation'),
        ('annotation', 'delete_annotation'),
    ],
    'operator': [
        *[(model, f'view_{model}') for model in (*WORK, 'dayfigure')],
        *[(model, f'cancel_{model}') for model in WORK if model != 'session'],
        ('invocation', 'view_error_detail'),
    ],
    'privacy officer': [
        *[(model, f'view_{model}') for model in (*WORK, *ROWS, *RECORDS, *FIGURES)],
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


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('sessions_app', '0040_shared_state_index'),
    ]

    operations = [
        migrations.RunPython(create_groups, migrations.RunPython.noop),
    ]
