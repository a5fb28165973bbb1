"""The list of workloads, in the order in which they run."""

from .w_backlog import Backlog
from .w_clients import Clients
from .w_flows import Chains, FourHosts, Mixed, SingleSteps
from .w_latency import Idle, Latency
from .w_maps import RootMap
from .w_payloads import Payloads
from .w_starts import Starts

WORKLOADS = (SingleSteps, Chains, RootMap, Latency, Payloads, FourHosts, Mixed, Backlog, Idle, Starts, Clients)
NAMES = tuple(workload.name for workload in WORKLOADS)


def chosen(names):
    return [workload() for workload in WORKLOADS if not names or workload.name in names]
