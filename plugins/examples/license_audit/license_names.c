/* SPDX-License-Identifier: Apache-2.0
 * One spelling for each licence, out of the many in use. The GNU ones are taken apart
 * (kind, version, "or later"); the others are in a table. */
#include "license_set.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *spelling, *spdx;
} spellings[] = {
    {"apache", "Apache-2.0"},
    {"apache-2", "Apache-2.0"},
    {"apache-2.0", "Apache-2.0"},
    {"apachev2", "Apache-2.0"},
    {"artistic", "Artistic-1.0-Perl"},
    {"artistic-1", "Artistic-1.0"},
    {"artistic-1.0", "Artistic-1.0"},
    {"artistic-2", "Artistic-2.0"},
    {"artistic-2.0", "Artistic-2.0"},
    {"0bsd", "0BSD"},
    {"bsd", "BSD-3-Clause"},
    {"bsd-2-clause", "BSD-2-Clause"},
    {"bsd-2", "BSD-2-Clause"},
    {"bsd-2-clauses", "BSD-2-Clause"},
    {"bsd-3-clause", "BSD-3-Clause"},
    {"bsd-3", "BSD-3-Clause"},
    {"bsd-3-clauses", "BSD-3-Clause"},
    {"bsd-3-clause-generic", "BSD-3-Clause"},
    {"bsd-4-clause", "BSD-4-Clause"},
    {"bsd-4-clause-uc", "BSD-4-Clause-UC"},
    {"boost", "BSL-1.0"},
    {"boost-1.0", "BSL-1.0"},
    {"bsl-1.0", "BSL-1.0"},
    {"cc0", "CC0-1.0"},
    {"cc0-1.0", "CC0-1.0"},
    {"cc-by-3.0", "CC-BY-3.0"},
    {"cc-by-4.0", "CC-BY-4.0"},
    {"cc-by-sa-3.0", "CC-BY-SA-3.0"},
    {"cc-by-sa-4.0", "CC-BY-SA-4.0"},
    {"cddl", "CDDL-1.0"},
    {"cddl-1", "CDDL-1.0"},
    {"hpnd", "HPND"},
    {"tcl", "TCL"},
    {"expat", "MIT"},
    {"mit", "MIT"},
    {"mit/x11", "MIT"},
    {"mit/expat", "MIT"},
    {"expat/mit", "MIT"},
    {"x11", "X11"},
    {"fsfap", "FSFAP"},
    {"isc", "ISC"},
    {"mpl-1.1", "MPL-1.1"},
    {"mpl-2", "MPL-2.0"},
    {"mpl-2.0", "MPL-2.0"},
    {"ofl-1.1", "OFL-1.1"},
    {"sil-1.1", "OFL-1.1"},
    {"openssl", "OpenSSL"},
    {"psf", "PSF-2.0"},
    {"psf-2", "PSF-2.0"},
    {"psf-2.0", "PSF-2.0"},
    {"python", "Python-2.0"},
    {"public-domain", "public-domain"},
    {"pd", "public-domain"},
    {"public domain", "public-domain"},
    {"unlicense", "Unlicense"},
    {"wtfpl", "WTFPL"},
    {"wtfpl-2", "WTFPL"},
    {"zlib", "Zlib"},
    {"zlib/libpng", "Zlib"},
};

/* Cuts white space and what is no printable ASCII (or would need an escape in JSON). */
static size_t clean(char out[LICENSE_NAME_SIZE], const char *name, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size && n + 1 < LICENSE_NAME_SIZE; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            if (n > 0 && out[n - 1] != ' ')
                out[n++] = ' ';
        } else if (c > ' ' && c < 0x7f && c != '"' && c != '\\') {
            out[n++] = (char)c;
        }
    }
    while (n > 0 && (out[n - 1] == ' ' || out[n - 1] == '.' || out[n - 1] == ';'))
        n--;
    out[n] = '\0';
    return n;
}

/* The GNU kind at the start of the name and how long its spelling is. */
static const char *gnu_kind(const char *name, size_t *length)
{
    static const char *const kinds[] = {"AGPL", "LGPL", "GPL", "GFDL-NIV", "GFDL"};
    size_t prefix = strncasecmp(name, "gnu ", 4) == 0 || strncasecmp(name, "gnu-", 4) == 0 ? 4 : 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i]);
        if (strncasecmp(name + prefix, kinds[i], n) == 0) {
            *length = prefix + n;
            return i == 3 ? "GFDL" : kinds[i];
        }
    }
    return NULL;
}

/* The one digit at *at, and steps over it; -1: there is another thing. */
static int read_digit(const char **at)
{
    return **at >= '0' && **at <= '9' ? *(*at)++ - '0' : -1;
}

/* Kind and version of a notice that names none: the licences themselves say "any". */
static void put_unversioned(char out[LICENSE_NAME_SIZE], const char *kind)
{
    const char *first = strcmp(kind, "LGPL") == 0   ? "2.0"
                        : strcmp(kind, "AGPL") == 0 ? "3.0"
                        : strcmp(kind, "GFDL") == 0 ? "1.1"
                                                    : "1.0";
    (void)snprintf(out, LICENSE_NAME_SIZE, "%s-%s-or-later", kind, first);
}

/* "GPL-2+", "GPLv2", "GPL-2.0-or-later", "GPL (>= 2)", "LGPL": kind, version, later. */
static bool normalise_gnu(char out[LICENSE_NAME_SIZE], const char *name)
{
    size_t length = 0;
    const char *kind = gnu_kind(name, &length);
    if (kind == NULL)
        return false;
    const char *at = name + length;
    if (isalpha((unsigned char)*at) && *at != 'v' && *at != 'V')
        return false; /* a longer word that begins like one */
    bool later = strchr(at, '+') != NULL || strcasestr(at, "later") != NULL ||
                 strcasestr(at, "newer") != NULL || strstr(at, ">=") != NULL;
    at += strcspn(at, "0123456789");
    int major = read_digit(&at);
    int minor = major > 0 && *at == '.' ? (at++, read_digit(&at)) : 0;
    if (major < 1 || minor < 0 || read_digit(&at) >= 0) {
        put_unversioned(out, kind);
        return true;
    }
    if (strcmp(kind, "GFDL") != 0 && (strcmp(kind, "LGPL") != 0 || major != 2))
        minor = 0; /* no such release: the number of an exception, or of the program */
    (void)snprintf(out, LICENSE_NAME_SIZE, "%s-%d.%d-%s", kind, major, minor,
                   later ? "or-later" : "only");
    return true;
}

void license_normalise(char out[LICENSE_NAME_SIZE], const char *name, size_t size)
{
    char cleaned[LICENSE_NAME_SIZE] = {0};
    size_t n = clean(cleaned, name, size);
    if (n > 0 && normalise_gnu(out, cleaned))
        return;
    memcpy(out, cleaned, sizeof cleaned);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (strcasecmp(cleaned, spellings[i].spelling) == 0)
            (void)snprintf(out, LICENSE_NAME_SIZE, "%s", spellings[i].spdx);
}

const char *license_family(const char *name)
{
    static const struct {
        const char *prefix, *family;
    } families[] = {
        {"AGPL-", "copyleft"},         {"GPL-", "copyleft"},
        {"GFDL-", "copyleft"},         {"CC-BY-SA", "copyleft"},
        {"LGPL-", "weak-copyleft"},    {"MPL-", "weak-copyleft"},
        {"CDDL", "weak-copyleft"},     {"EPL", "weak-copyleft"},
        {"Artistic", "weak-copyleft"}, {"public-domain", "public-domain"},
        {"CC0", "public-domain"},      {"Unlicense", "public-domain"},
        {"WTFPL", "public-domain"},    {"MIT", "permissive"},
        {"X11", "permissive"},         {"BSD", "permissive"},
        {"0BSD", "permissive"},        {"BSL-", "permissive"},
        {"Apache", "permissive"},      {"ISC", "permissive"},
        {"Zlib", "permissive"},        {"PSF", "permissive"},
        {"Python", "permissive"},      {"OFL-", "permissive"},
        {"OpenSSL", "permissive"},     {"FSFAP", "permissive"},
        {"FSFUL", "permissive"},       {"CC-BY-", "permissive"},
        {"permissive", "permissive"},  {"HPND", "permissive"},
        {"TCL", "permissive"},
    };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strncmp(name, families[i].prefix, strlen(families[i].prefix)) == 0)
            return families[i].family;
    return "other";
}
