"""What a fault is."""


class Fault:
    """One kind of trouble. `inject` makes it and ends it.

    name         as in --fault and in the report
    what         one line for --list
    quick        part of the short form
    background   lasts long and disturbs no other fault, so those go on beside it
    causes       how error texts begin that handlers have because of it
    """

    name = ""
    what = ""
    quick = True
    background = False
    causes = ()

    def plan(self, random):
        """The parameters of one injection, from the seeded source alone."""
        return {}

    def why_not(self, world):
        """Why this machine cannot have this fault, or None."""
        return None

    def inject(self, world, **parameters):
        raise NotImplementedError


def some_host(random):
    """A host by its place; there are two for each of three queues."""
    return random.randrange(6)


def some_proxied_host(random):
    return 2 * random.randrange(3)
