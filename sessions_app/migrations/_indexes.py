"""Operations on indexes of migrations."""

from django.contrib.postgres.operations import AddIndexConcurrently


class BuildIndex(AddIndexConcurrently):
    """Build an index while the table is written. A build that was interrupted leaves an invalid index, which goes."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS {name}')
        super().database_forwards(app_label, schema_editor, from_state, to_state)
