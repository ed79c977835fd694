from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / 'limits_at_once.sql').read_text()
DROP = 'DROP FUNCTION adk_excess(uuid, integer, jsonb); DROP FUNCTION adk_key_has_spent(uuid, date)'


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0059_acts_of_yes_and_no')]

    operations = [migrations.RunSQL(FUNCTIONS, DROP)]
