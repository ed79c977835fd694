from django.db import migrations, models

from sessions_app.migrations._indexes import BuildIndex


class Migration(migrations.Migration):

    atomic = False

    dependencies = [('sessions_app', '0044_acts_of_one_session')]

    operations = [BuildIndex('callerror', models.Index(fields=['at', 'id'], name='call_error_by_time'))]
