"""`rewound_ranges` on PostgreSQL agrees with the runtime's `drop_rewound` (contract R3)."""

import json
import random

import pytest
from django.contrib.auth.models import User

from runtime.events import Event as RuntimeEvent
from runtime.events.event_actions import EventActions
from runtime.events.rewound import drop_rewound
from sessions_app.codec import event_to_json
from sessions_app.history.rewinds import rewound_ranges
from sessions_app.models import Event, Session

pytestmark = pytest.mark.django_db


def random_log(chance: random.Random) -> list[RuntimeEvent]:
    """Return a log of interleaved invocations and of rewinds to any of them, rewound ones included."""
    log: list[RuntimeEvent] = []
    for number in range(chance.randint(1, 40)):
        names = [event.invocation_id for event in log] or ["none"]
        new = f"e-{number}"
        if chance.random() < 0.25:
            actions = EventActions(rewind_before_invocation_id=chance.choice(names))
            log.append(RuntimeEvent(author="user", invocation_id=new, actions=actions))
        else:
            log.append(RuntimeEvent(author="a", invocation_id=chance.choice([new, new, names[-1], *names])))
    return log


@pytest.mark.parametrize("seed", range(60))
def test_the_same_events_remain_as_for_the_agents(django_user_model: type[User], seed: int) -> None:
    log = random_log(random.Random(seed))
    person = django_user_model.objects.create(username="ada")
    session = Session.objects.create(app_name="a", user=person, key="k", last_seq=len(log))
    for seq, event in enumerate(log, start=1):
        Event.objects.create(session=session, seq=seq, body=json.loads(event_to_json(event)))
    for until in (len(log) // 2, len(log)):
        remaining = [log.index(event) + 1 for event in drop_rewound(log[:until])]
        parts = rewound_ranges(session.pk, until)
        assert [seq for seq in range(1, until + 1) if not any(seq in part for part in parts)] == remaining
