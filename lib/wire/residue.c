/*
 * Words for what a task left behind; see residue.h.
 */
#include "wire/residue.h"

#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t bit;
    const char *words;
} residues[] = {
    {RESIDUE_SIGNALS, "blocked signals"},
    {RESIDUE_FOLDER, "another working folder"},
    {RESIDUE_PRIORITY, "another priority"},
    {RESIDUE_ENVIRONMENT, "a changed environment"},
    {RESIDUE_LOCALE, "another locale"},
    {RESIDUE_FLOATING_POINT, "another floating-point mode"},
    {RESIDUE_LIMITS, "other resource limits"},
    {RESIDUE_CREDENTIALS, "other credentials"},
    {RESIDUE_NAMESPACES, "other namespaces"},
    {RESIDUE_AFFINITY, "another CPU affinity"},
    {RESIDUE_STANDARD_FDS, "changed inherited descriptors"},
    {RESIDUE_HANDLERS, "signal handlers"},
    {RESIDUE_THREADS, "more threads"},
    {RESIDUE_DESCRIPTORS, "more open descriptors"},
    {RESIDUE_CHILDREN, "more child processes"},
};

void residue_describe(uint32_t residue, char *out, size_t size)
{
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof residues / sizeof residues[0]; i++) {
        const char *between = length == 0 ? "" : (residue >> (i + 1)) != 0 ? ", " : " and ";

        if ((residue & residues[i].bit) == 0 || length >= size)
            continue;
        length += (size_t)snprintf(out + length, size - length, "%s%s", between, residues[i].words);
    }
}
