"""The kinds of faults, in the order of --list."""

from .clock import ClockSteps
from .disk import DiskFull
from .files import Overwrite, Replace
from .handlers import Crash, Flood, ForkBomb, Grandchildren, Memory
from .hosts import FreezeHost, KillHost, StopHost
from .network import BlackHole, Delay, Reset, WorkBlackHole
from .operators import Deprecate, Fence, LockRun
from .pooler import Pooler
from .recovery import StuckNeighbours
from .runners import KillRunners
from .server import Absence, ReadOnly, Reconnects, Restart
from .server import Crash as ServerCrash
from .upgrade import Upgrade

ALL = [
    fault()
    for fault in (
        KillHost, FreezeHost, StopHost, KillRunners, Fence, Deprecate, Restart, ServerCrash, Absence, ReadOnly, Reconnects,
        Reset, BlackHole, WorkBlackHole, Delay, Memory, Crash, Flood, Grandchildren, ForkBomb, Overwrite, Replace, ClockSteps, Pooler,
        DiskFull, StuckNeighbours, LockRun, Upgrade,
    )
]
