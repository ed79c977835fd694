import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0034_past_attempts'),
    ]

    operations = [
        migrations.CreateModel(
            name='RequestText',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('text', models.TextField()),
            ],
        ),
        migrations.AddField(
            model_name='event',
            name='model_call',
            field=models.JSONField(null=True),
        ),
        migrations.CreateModel(
            name='SessionText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_id', models.UUIDField(db_index=True)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='request_texts', to='sessions_app.session')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('session', 'text_id'), name='session_text_unique')],
            },
        ),
    ]
