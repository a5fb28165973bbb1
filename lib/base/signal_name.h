/*
 * The name of a signal, as people write it.
 */
#ifndef PGFLOW_BASE_SIGNAL_NAME_H
#define PGFLOW_BASE_SIGNAL_NAME_H

/* "SIGSEGV"; "signal 40" for a signal without a name. Static storage, overwritten by the next
 * call: for one thread. */
const char *signal_name(int number);

#endif
