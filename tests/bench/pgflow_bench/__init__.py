"""The bench: workloads W1 to W8, an idle host and starts, each beside two floors.

    __main__     arguments, order of events
    sizes        how much each workload does: full, quick, smoke
    server       databases of the private PostgreSQL, and the meter over them
    pump         bench_pump, the plain client: the floors, and the loads
    drain        hosts work off a prepared queue: the measurement most workloads share
    account      which SQL functions a drain's time goes to
    workloads    the list; one file a subject beside it (w_*.py)
    summary      rounds to medians, ratios to the floors, the reaches
    report       the summary as text
    docs, plot   the table and the plot of docs/performance.md
    compare      what got slower than a saved summary

A workload gives, per round, a dictionary of variants; a variant is a flat dictionary of figures.
"""
