import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('sessions_app', '0037_packs'),
    ]

    operations = [
        migrations.AddField(
            model_name='knowledgebase',
            name='owners',
            field=models.ForeignKey(blank=True, db_index=False, help_text="Group of the people who upload and delete documents in the chat's settings; empty for staff alone.", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='auth.group'),
        ),
    ]
