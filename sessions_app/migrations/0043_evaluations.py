import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from sessions_app.migrations._permissions import permission


def open_evaluations(apps, schema_editor):
    """Let the groups that see figures see evaluations: both tell how well agents do, without words of conversations."""
    right = permission(apps, 'evaluation', 'view_evaluation')
    see_figures = apps.get_model('auth', 'Permission').objects.filter(
        content_type__app_label='sessions_app', codename='view_dayfigure'
    )
    for group in apps.get_model('auth', 'Group').objects.filter(permissions__in=see_figures):
        group.permissions.add(right)


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0042_api_keys'),
    ]

    operations = [
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('app_name', models.CharField(max_length=128)),
                ('set_id', models.CharField(max_length=200)),
                ('config', models.JSONField()),
                ('case_count', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('passed', models.PositiveIntegerField(db_default=0)),
                ('failed', models.PositiveIntegerField(db_default=0)),
                ('broken', models.PositiveIntegerField(db_default=0)),
                ('previous', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='sessions_app.evaluation')),
            ],
            options={
                'default_permissions': ('view',),
            },
        ),
        migrations.CreateModel(
            name='EvaluatedCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('eval_id', models.CharField(max_length=200)),
                ('case', models.JSONField()),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('passed', 'Passed'), ('failed', 'Failed'), ('broken', 'Broken')], db_default='queued', max_length=16)),
                ('attempts', models.PositiveIntegerField(db_default=0)),
                ('actual', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('results', models.JSONField(db_default=models.Value([], models.JSONField()), default=list)),
                ('error', models.TextField(blank=True, db_default='')),
                ('error_detail', models.TextField(blank=True, db_default='')),
                ('sends', models.PositiveIntegerField(db_default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('heartbeat_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions_app.session')),
                ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='cases', to='sessions_app.evaluation')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(fields=['-created_at', '-id'], name='evaluation_by_age'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(fields=['app_name', 'set_id', '-finished_at'], name='evaluation_of_set'),
        ),
        migrations.AddIndex(
            model_name='evaluation',
            index=models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['created_at'], name='evaluation_open'),
        ),
        migrations.AddIndex(
            model_name='evaluatedcase',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['evaluation'], name='evaluated_case_open'),
        ),
        migrations.AddConstraint(
            model_name='evaluatedcase',
            constraint=models.UniqueConstraint(fields=('evaluation', 'eval_id'), name='evaluated_case_once'),
        ),
        migrations.RunPython(open_evaluations, migrations.RunPython.noop),
    ]
