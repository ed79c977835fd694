"""Permissions in migrations: Django itself creates them only after all migrations."""


def permission(apps, model, codename):
    """Return a permission of this app, which is created when it does not exist."""
    content_type, _ = apps.get_model('contenttypes', 'ContentType').objects.get_or_create(
        app_label='sessions_app', model=model
    )
    meta = apps.get_model('sessions_app', model)._meta
    name = dict(meta.permissions).get(codename) or f'Can {codename.partition("_")[0]} {meta.verbose_name}'
    made, _ = apps.get_model('auth', 'Permission').objects.get_or_create(
        content_type=content_type, codename=codename, defaults={'name': name}
    )
    return made


def add_to_groups(apps, rights):
    """Give the groups of 0041 further rights. A group that a site has deleted, or made itself, stays as it is."""
    marks = {'auditor': 'export_data', 'operator': 'cancel_tooljob', 'privacy officer': 'erase_data'}
    for name, added in rights.items():
        known = apps.get_model('auth', 'Group').objects.filter(name=name, permissions__codename=marks[name])
        if group := known.first():
            group.permissions.add(*[permission(apps, model, codename) for model, codename in added])
