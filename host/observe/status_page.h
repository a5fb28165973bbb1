/*
 * status_page.html as the build puts it into the program, and the policy that lets its own script
 * and style run and nothing else (embed_page.cmake).
 */
#ifndef PGFLOW_OBSERVE_STATUS_PAGE_H
#define PGFLOW_OBSERVE_STATUS_PAGE_H

#include <stddef.h>

extern const unsigned char status_page[];
extern const size_t status_page_size;
extern const char status_page_policy[];

#endif
