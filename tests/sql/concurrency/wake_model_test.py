"""Every interleaving of the wake-up protocol, and that the model catches what breaks it."""
import pytest
import wake_model
from wake_model import BROKEN, explore, world

WORLDS = {
    "one of each": {},
    "three starters": {"starters": 3},
    "three sleepers": {"sleepers": 3},
    "two of each": {"starters": 2, "sleepers": 2},
    "a savepoint that is rolled back, beside another start": {"starters": 2, "savepoints": 1},
    "a start in the session of a sleeper": {"starters": 2, "sleepers": 2, "own": 0},
    "a host that takes no locks": {"starters": 2, "sleepers": 2, "old": True},
}
# Enough to break what can be broken, soonest first.
SMALL = [{}, {"old": True}, {"own": 0}, {"savepoints": 1}]


@pytest.mark.parametrize("name", WORLDS)
def test_no_interleaving_loses_a_wake_up(name):
    states, way = explore(world(**WORLDS[name]))
    assert way is None, "\n".join(map(str, way))
    assert states > 50


@pytest.mark.parametrize("rule", sorted(BROKEN))
def test_each_rule_is_needed(rule):
    assert any(explore(world(**options), {rule})[1] for options in SMALL), f"nothing is lost: {rule}"


def test_a_host_does_fall_asleep_and_starts_do_say_nothing():
    """The model would hold, too, if everybody polled and notified."""
    seen = set()
    first = world()
    todo = [first]
    while todo:
        now = todo.pop()
        if now in seen:
            continue
        seen.add(now)
        todo.extend(wake_model.steps(now, frozenset()))
    assert any(now.sleepers[0].at == "asleep" for now in seen)
    assert any(s.at == "done" and not s.told and now.waiting for now in seen for s in now.starters)
