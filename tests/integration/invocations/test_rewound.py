"""`find_rewinds` on PostgreSQL agrees with the runtime's `drop_rewound` (contract R3)."""

import json
import random

import pytest
from django.contrib.auth.models import User

from runtime.events import Event as RuntimeEvent
from runtime.events.event_actions import EventActions
from runtime.events.rewound import UNDONE_REWIND_KEY, drop_rewound, effective_path_of
from sessions_app.base.codec import event_to_json
from sessions_app.history.rewinds import find_rewinds
from sessions_app.models import Event, Session

pytestmark = pytest.mark.django_db


def random_log(chance: random.Random) -> list[RuntimeEvent]:
    """Return a log of interleaved invocations, of rewinds to any of them, rewound ones included, and of their undos."""
    log: list[RuntimeEvent] = []
    for number in range(chance.randint(1, 40)):
        names = [event.invocation_id for event in log] or ["none"]
        rewinds = [event.id for event in log if event.actions.rewind_before_invocation_id] or ["none"]
        new = f"e-{number}"
        if chance.random() < 0.35:
            actions = EventActions(rewind_before_invocation_id=chance.choice(names))
            undone = {UNDONE_REWIND_KEY: chance.choice(rewinds)} if chance.random() < 0.5 else None
            log.append(
                RuntimeEvent(author="user", invocation_id=new, actions=actions, custom_metadata=undone)
            )
        else:
            log.append(RuntimeEvent(author="a", invocation_id=chance.choice([new, new, names[-1], *names])))
    return log


@pytest.mark.parametrize("seed", range(80))
def test_the_same_events_remain_as_for_the_agents(django_user_model: type[User], seed: int) -> None:
    log = random_log(random.Random(seed))
    person = django_user_model.objects.create(username="ada")
    session = Session.objects.create(app_name="a", user=person, key="k", last_seq=len(log))
    for seq, event in enumerate(log, start=1):
        Event.objects.create(session=session, seq=seq, body=json.loads(event_to_json(event)))
    for until in (len(log) // 2, len(log)):
        remaining = [log.index(event) + 1 for event in drop_rewound(log[:until])]
        rewinds = find_rewinds(session.pk, until)
        found = session.events.filter(rewinds.in_effect, seq__lte=until).order_by("seq")
        assert list(found.values_list("seq", flat=True)) == remaining
        undone = {seq for part in rewinds.ranges for seq in range(part.first, part.last + 1)}
        assert sorted(undone) == [seq for seq in range(1, until + 1) if seq not in remaining]
        assert all(log[part.last - 1].actions.rewind_before_invocation_id for part in rewinds.ranges)
        path = effective_path_of(log[:until])
        for seq in range(1, until + 1):
            by, expected = rewinds.path.undone_by(seq), path.undone_by(seq - 1)
            assert (by.event_id if by else None) == (expected.event_id if expected else None)
