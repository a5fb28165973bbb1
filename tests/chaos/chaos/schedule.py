"""Which fault comes when: a matter of the seed alone."""

import itertools
import random

from . import faults


def make(seed, chosen, quick):
    """Endless (round, fault, parameters, pause before it in seconds).

    Each round has every chosen fault once, in an order of its own. Faults that
    this machine cannot have are planned like the others, so that the same seed
    gives the same schedule everywhere.
    """
    source = random.Random(seed)
    chosen = [fault for fault in faults.ALL if (fault.name in chosen if chosen else fault.quick or not quick)]
    for number in itertools.count(1):
        order = sorted(chosen, key=lambda fault: fault.name)
        source.shuffle(order)
        # The long ones begin first: the others go on beside them.
        order.sort(key=lambda fault: not fault.background)
        for fault in order:
            yield number, fault, fault.plan(source), source.uniform(0.2, 1.5)
