"""The wake-up protocol of docs/internals/wake.md as a machine, and every interleaving of it.

A starter is one transaction that makes a message visible; a sleeper is the LISTEN session of a host. One step is one
request to PostgreSQL, or one of the moments inside a commit that others can come between: visible, locks released,
notification delivered. Whatever may happen at any time (rollback, savepoint, end of a host) is a step as well.

A state is lost when a host sleeps, a message waits, and nobody is about to tell it.
"""
from collections import deque, namedtuple

# told: it sends a notification. marked: its memory of having taken T. own: the sleeper in whose session it runs.
Starter = namedtuple("Starter", "at holds_t told marked savepoints own")
# heard: a notification has arrived and was not looked at.
Sleeper = namedtuple("Sleeper", "at holds_s heard takes_locks")
# waiting: a message is visible that nobody has claimed. Whoever is at "let go of S" or "let go of T" has that lock in
# exclusive mode.
World = namedtuple("World", "starters sleepers waiting")

RESTING = ("watched", "asleep")

# Each breaks one rule of the protocol.
BROKEN = {
    "looks at S before it takes T",
    "lets go of T before its rows are visible",
    "claims before it tries T",
    "tries T before it takes S",
    "sleeps although T was not to be had",
    "sleeps without S",
    "stays asleep when its session is lost",
    "remembers T over a savepoint",
    "looks at S once a transaction and takes no T",
    "does not see that its own session is idle",
    "does not look for hosts that take no locks",
}


def world(starters=1, sleepers=1, savepoints=0, own=None, old=False):
    return World(
        tuple(Starter("look", False, False, False, savepoints, own if i == 0 else None) for i in range(starters)),
        tuple(Sleeper("awake" if i > 0 or not old else "asleep", False, False, i > 0 or not old)
              for i in range(sleepers)),
        False)


def put(items, index, **changes):
    return items[:index] + (items[index]._replace(**changes),) + items[index + 1:]


def with_starter(now, i, **changes):
    return now._replace(starters=put(now.starters, i, **changes))


def with_sleeper(now, j, **changes):
    return now._replace(sleepers=put(now.sleepers, j, **changes))


# ---- The locks: a session's own never conflict ----

def t_is_shareable(now, own):
    return not any(s.at == "let go of T" and j != own for j, s in enumerate(now.sleepers))


def t_is_free(now, j):
    return t_is_shareable(now, j) and not any(s.holds_t and s.own != j for s in now.starters)


def s_is_shareable(now, j):
    return not any(s.at == "let go of S" and s.own != j for s in now.starters)


def s_is_free(now, own):
    return not any(s.at == "let go of S" for s in now.starters) and not any(
        s.holds_s and j != own for j, s in enumerate(now.sleepers))


# ---- The starter ----

def in_transaction(starter):
    return starter.at not in ("look", "done")


def look(now, i, broken):
    starter = now.starters[i]
    own = starter.own
    if own is not None and now.sleepers[own].at in ("T", "let go of T"):
        return  # that session is at another statement
    told = not all(s.takes_locks for s in now.sleepers) and "does not look for hosts that take no locks" not in broken
    if own is not None and "does not see that its own session is idle" not in broken:
        told = told or now.sleepers[own].holds_s
    first = "S" if "looks at S before it takes T" in broken else "T"
    yield with_starter(now, i, at="commit" if told else first, told=told)


def take_t(now, i, broken):
    starter = now.starters[i]
    after = "commit" if "looks at S before it takes T" in broken else "S"
    if "looks at S once a transaction and takes no T" in broken:
        yield with_starter(now, i, at=after)
    elif starter.marked and "remembers T over a savepoint" in broken:
        yield with_starter(now, i, at=after)
    elif t_is_shareable(now, starter.own):
        yield with_starter(now, i, at=after, holds_t=True, marked=True)
    else:
        yield with_starter(now, i, at="commit", told=True)


def take_s(now, i, broken):
    after = "T" if "looks at S before it takes T" in broken else "commit"
    if s_is_free(now, now.starters[i].own):
        yield with_starter(now, i, at="let go of S")
    else:
        yield with_starter(now, i, at=after, told=True)


def let_go_of_s(now, i, broken):
    after = "T" if "looks at S before it takes T" in broken else "commit"
    yield with_starter(now, i, at=after)


def commit(now, i, broken):
    if "lets go of T before its rows are visible" in broken:
        if now.starters[i].holds_t:
            yield with_starter(now, i, holds_t=False)
            return
    yield with_starter(now, i, at="release")._replace(waiting=True)


def release(now, i, _broken):
    yield with_starter(now, i, at="deliver", holds_t=False)


def deliver(now, i, _broken):
    if not now.starters[i].told:
        yield with_starter(now, i, at="done")
        return
    sleepers = tuple(s if s.at == "dead" else s._replace(heard=True) for s in now.sleepers)
    yield with_starter(now, i, at="done")._replace(sleepers=sleepers)


STARTER = {"look": look, "T": take_t, "S": take_s, "let go of S": let_go_of_s, "commit": commit, "release": release,
           "deliver": deliver}


def roll_back(now, i, broken):
    """The whole transaction, or to a savepoint before the start, and then the start again."""
    starter = now.starters[i]
    if starter.at not in ("T", "S", "commit"):
        return
    marked = starter.marked and "remembers T over a savepoint" in broken
    yield with_starter(now, i, at="done", holds_t=False, told=False)
    if starter.savepoints > 0:
        yield with_starter(now, i, at="look", holds_t=False, told=False, marked=marked,
                           savepoints=starter.savepoints - 1)


# ---- The sleeper ----

def is_busy(now, j):
    """A transaction of a starter is open in this session."""
    return any(s.own == j and in_transaction(s) for s in now.starters)


def claim(now, j, at):
    return with_sleeper(now, j, at=at)._replace(waiting=False)


def rest(now, j, broken):
    """From awake: S, which is refused in the instant that a starter has it."""
    if "sleeps without S" in broken or "tries T before it takes S" in broken:
        yield with_sleeper(now, j, at="T")
    elif s_is_shareable(now, j):
        yield with_sleeper(now, j, at="claim early" if "claims before it tries T" in broken else "T", holds_s=True)


def try_t(now, j, broken):
    if t_is_free(now, j):
        yield with_sleeper(now, j, at="let go of T")
    elif "sleeps although T was not to be had" in broken:
        yield with_sleeper(now, j, at="claim")
    elif now.sleepers[j].holds_s:
        yield with_sleeper(now, j, at="watched")
    else:
        yield with_sleeper(now, j, at="awake")


def let_go_of_t(now, j, broken):
    after = "asleep" if "claims before it tries T" in broken else "claim"
    after = "S late" if "tries T before it takes S" in broken else after
    yield with_sleeper(now, j, at=after)


def sleeper_steps(now, j, broken):
    sleeper = now.sleepers[j]
    at = sleeper.at
    if at == "dead":
        return
    if not is_busy(now, j):
        if at == "awake":
            yield from rest(now, j, broken)
        elif at == "T":
            yield from try_t(now, j, broken)
        elif at == "let go of T":
            yield from let_go_of_t(now, j, broken)
        elif at == "watched":
            yield with_sleeper(now, j, at="T")
        elif at == "S late" and s_is_shareable(now, j):
            # Claimed in the statement of T, say; what matters is that S comes last.
            yield claim(with_sleeper(now, j, holds_s=True), j, "asleep")
        if at in RESTING and sleeper.takes_locks:
            yield with_sleeper(now, j, at="awake", holds_s=False)
    if at == "claim early":
        yield claim(now, j, "T")
    elif at == "claim":
        yield claim(now, j, "asleep")
    elif at in ("awake", "watched"):
        yield claim(now, j, at)  # the poll
    if sleeper.heard and at in ("awake", "watched", "asleep"):
        yield with_sleeper(now, j, at="woken " + at, heard=False)
    elif at.startswith("woken "):
        yield claim(now, j, at.removeprefix("woken "))


def end(now, j, broken):
    """The host is killed; or its session is lost, and it goes on with another one."""
    if now.sleepers[j].at == "dead" or is_busy(now, j) or not now.sleepers[j].takes_locks:
        return
    yield with_sleeper(now, j, at="dead", holds_s=False, heard=False)
    after = now.sleepers[j].at if "stays asleep when its session is lost" in broken else "awake"
    yield with_sleeper(now, j, at=after, holds_s=False, heard=False)


# ---- All of it ----

def steps(now, broken):
    for i, starter in enumerate(now.starters):
        if starter.at != "done":
            yield from STARTER[starter.at](now, i, broken)
            yield from roll_back(now, i, broken)
    for j in range(len(now.sleepers)):
        yield from sleeper_steps(now, j, broken)
        yield from end(now, j, broken)


def is_lost(now):
    if not now.waiting or any(s.told and s.at in ("release", "deliver") for s in now.starters):
        return False
    return any(s.at == "asleep" and not s.heard for s in now.sleepers)


def sorted_world(now):
    """Which of equal processes does what is no difference."""
    if any(s.own is not None for s in now.starters):
        return now
    return now._replace(starters=tuple(sorted(now.starters)), sleepers=tuple(sorted(now.sleepers)))


def explore(first, broken=frozenset()):
    """Gives (number of states, the way to the first lost one or None)."""
    first = sorted_world(first)
    came_from = {first: None}
    todo = deque([first])
    while todo:
        now = todo.popleft()
        if is_lost(now):
            way = []
            while now is not None:
                way.append(now)
                now = came_from[now]
            return len(came_from), way[::-1]
        for after in map(sorted_world, steps(now, broken)):
            if after not in came_from:
                came_from[after] = now
                todo.append(after)
    return len(came_from), None
