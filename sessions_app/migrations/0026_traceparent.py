from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0025_memory_entry_to_embed')]

    operations = [
        migrations.AddField(
            'invocation',
            'traceparent',
            models.CharField(max_length=55, blank=True, default='', db_default='', editable=False),
        ),
    ]
