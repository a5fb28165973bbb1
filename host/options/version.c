#include "options/options.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <uv.h>

#include <pgflow/module.h>

#include "db/db.h"
#include "db/migrate.h"
#include "module/digest.h"
#include "observe/http.h"

void options_print_version(void)
{
    char libpq[32];

    db_client_version(libpq, sizeof libpq);
    printf("pgflow-host %s\n", PGFLOW_VERSION);
    printf("module ABI  %u.0 to %u.%u\n", PGF_ABI_MAJOR, PGF_ABI_MAJOR, PGF_ABI_MINOR);
    printf("schema      %d\n", migrate_own_version());
    printf("libpq       %s\n", libpq);
    printf("libuv       %s\n", uv_version_string());
    printf("cJSON       %s\n", cJSON_Version());
    printf("OpenSSL     %s\n", digest_library_version());
    printf("microhttpd  %s\n", http_library_version());
}
