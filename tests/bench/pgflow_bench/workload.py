"""What a workload is."""

from typing import NamedTuple


class Reach(NamedTuple):
    """How far a figure of a variant is meant to get, as a ratio that machines do not change."""

    variant: str
    figure: str
    relation: str  # ">=" or "<="
    wanted: float

    def met(self, value):
        return value >= self.wanted if self.relation == ">=" else value <= self.wanted


class Workload:
    name = title = None
    reaches = ()

    def round(self, bench):
        """One round: {variant: {figure: number}}. `tasks` and `seconds` are in each; with `rate` comes the ratio to the floors."""
        raise NotImplementedError

    def finish(self):
        """After the last round: release what was kept between rounds."""
