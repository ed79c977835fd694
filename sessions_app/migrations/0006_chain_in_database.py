from django.db import migrations

from sessions_app.migrations._sql import run_file


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0005_erased_session')]

    operations = [run_file('chain.sql')]
