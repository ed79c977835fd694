from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations, models


def keep_names(apps, schema_editor):
    """Give the rows the names of the accounts that are still there; a person who erased their own data has none."""
    name = get_user_model().USERNAME_FIELD
    for model, column in (('Tombstone', 'by'), ('LegalHold', 'set_by'), ('LegalHold', 'lifted_by')):
        rows = apps.get_model('sessions_app', model).objects.filter(**{f'{column}__isnull': False})
        for row in rows.select_related(column).iterator(chunk_size=1000):
            staff = getattr(row, column)
            if model == 'LegalHold' or str(staff.pk) != row.user_id:
                setattr(row, f'{column}_name', getattr(staff, name)[:254])
                row.save(update_fields=[f'{column}_name'])


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('sessions_app', '0052_push_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='legalhold',
            name='lifted_by_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=254),
        ),
        migrations.AddField(
            model_name='legalhold',
            name='set_by_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=254),
        ),
        migrations.AddField(
            model_name='tombstone',
            name='by_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=254),
        ),
        migrations.RunPython(keep_names, migrations.RunPython.noop),
    ]
