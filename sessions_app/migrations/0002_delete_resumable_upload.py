from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0001_initial')]

    operations = [migrations.DeleteModel('ResumableUpload')]
