from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0038_owners_of_knowledge')]

    operations = [BuildIndex('invocation', models.Index(fields=['created_at'], name='invocation_by_time'))]
