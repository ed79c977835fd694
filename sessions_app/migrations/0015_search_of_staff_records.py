from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Upper

from sessions_app.migrations._indexes import BuildIndex


def _build(model, table):
    """Return the operations that build the indexes of a table."""
    indexes = [
        models.Index(fields=['subject_id'], name=f'{table}_subject_id'),
        models.Index(OpClass(Upper('actor_name'), 'text_pattern_ops'), name=f'{table}_name'),
        models.Index(fields=['address'], name=f'{table}_address', condition=models.Q(('address__isnull', False))),
    ]
    return [BuildIndex(model, index) for index in indexes]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0014_causes_of_failures')]

    operations = [*_build('staffaccess', 'staff_access'), *_build('staffact', 'staff_act')]
