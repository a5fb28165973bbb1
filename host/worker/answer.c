/*
 * What the answer of a database call means for the host: it is there, it is tried again, or it was
 * refused for good and the host fails.
 */
#include "worker/worker_private.h"

#include <string.h>

#include "log/log.h"

enum { DEADLINE_MS_PER_MIB = 1000 };

/* PostgreSQL reads, compresses and copies a large output at about 3 MiB a second on a small
 * machine: a deadline for ordinary payloads would be crossed by every attempt to report one. */
int answer_deadline_ms(const struct settings *settings)
{
    int for_payload = settings->max_payload * DEADLINE_MS_PER_MIB;

    return for_payload > LIMIT_DB_DEADLINE_MS ? for_payload : LIMIT_DB_DEADLINE_MS;
}

/* object_not_in_prerequisite_state is how pgflow's own functions say no: a queue of somebody else,
 * a name that is taken. Its class is not permanent by itself, but that one is. */
static bool is_permanent(const struct db_status *status)
{
    return status->permanent || strcmp(status->sqlstate, "55000") == 0;
}

/* Not sent, or answered without memory to read it: the host's own trouble, and gone with it. */
static int exit_code(const struct db_status *status)
{
    bool own = status->outcome == DB_UNSENT || strcmp(status->sqlstate, "53200") == 0;
    return own ? ERROR_INTERNAL : ERROR_CONFIG;
}

/* What mends a refusal for good, where the server's words do not say. */
static const char *remedy_of(const struct db_status *status)
{
    if (strcmp(status->sqlstate, "42501") == 0)
        return "; the login of a host needs the role pgflow_worker (grant pgflow_worker to it), "
               "and "
               "the role its rights (as the owner of the schema: select pgflow._apply_roles()); "
               "pgflowctl doctor names what is missing";
    return "";
}

bool answer_is_there(struct worker *worker, const struct db_status *status, const char *what)
{
    if (status->outcome == DB_OK)
        return true;
    if (is_permanent(status)) {
        worker_fail(worker, exit_code(status), "%s was refused: %s%s%s%s%s%s%s", what, status->text,
                    status->sqlstate[0] != '\0' ? " (SQLSTATE " : "", status->sqlstate,
                    status->sqlstate[0] != '\0' ? ")" : "", remedy_of(status),
                    status->detail != NULL ? "\n" : "",
                    status->detail != NULL ? status->detail : "");
        return false;
    }
    log_warn("call_failed", "a database call failed; it is tried again", LOG_QUEUE(worker->queue),
             LOG_FIELD_TEXT("call", what), LOG_ERROR(status->text));
    return false;
}
