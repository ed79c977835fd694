from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models.lookups import Exact

half_of_hash = models.Func(
    'text',
    template="substring(sha256(convert_to(%(expressions)s, 'UTF8')) FOR 16)",
    output_field=models.BinaryField(),
)
bytes_of_id = models.Func('id', function='uuid_send', output_field=models.BinaryField())


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0039_invocation_by_time')]

    operations = [
        AddConstraintNotValid(
            'requesttext',
            models.CheckConstraint(condition=Exact(bytes_of_id, half_of_hash), name='request_text_has_its_hash'),
        ),
    ]
