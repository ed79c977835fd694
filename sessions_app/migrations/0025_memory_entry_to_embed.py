from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0024_memory_vectors')]

    operations = [
        BuildIndex(
            'memoryentry',
            models.Index(
                fields=['embedded_by', 'id'],
                name='memory_entry_to_embed',
                condition=models.Q(('words', ''), _negated=True),
            ),
        ),
    ]
