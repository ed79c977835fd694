from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0045_call_error_by_time')]

    operations = [
        migrations.AlterModelOptions(
            name='evaluation',
            options={
                'default_permissions': ('view',),
                'permissions': [
                    ('cancel_evaluation', 'Can stop evaluation'),
                    ('run_evaluation', 'Can run evaluations and write eval sets'),
                ],
            },
        ),
    ]
