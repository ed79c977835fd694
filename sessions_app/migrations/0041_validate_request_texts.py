from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [('sessions_app', '0040_request_texts_have_their_hashes')]

    operations = [
        # A migration of its own: the rows are checked while the site goes on to write, and again after a failure. It
        # fails if somebody has changed a text, which no version of the site does. Delete this row and migrate again:
        #   SELECT * FROM sessions_app_requesttext
        #   WHERE uuid_send(id) <> substring(sha256(convert_to(text, 'UTF8')) FOR 16);
        ValidateConstraint('requesttext', 'request_text_has_its_hash'),
    ]
