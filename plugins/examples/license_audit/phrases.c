/* SPDX-License-Identifier: Apache-2.0
 * Licences in free text, by phrases that their texts and notices cannot do without. */
#include "recogniser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All phrases of a row must occur, none of the forbidden one. */
static const struct {
    const char *license;
    const char *has, *has_too, *has_not;
} texts[] = {
    {"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy", NULL,
     NULL},
    {"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with",
     NULL, NULL},
    {"ISC", "permission to use, copy, modify, and distribute this software for any purpose with",
     "provided that the above copyright notice and this permission notice appear in all copies",
     NULL},
    {"HPND", "permission to use, copy, modify, and distribute this software and its documentation",
     NULL, NULL},
    {"HPND-sell-variant",
     "permission to use, copy, modify, distribute, and sell this software and its documentation",
     NULL, NULL},
    {"TCL", "grant permission to use, copy, modify, distribute, and license this software", NULL,
     NULL},
    {"BSD-4-Clause", "redistribution and use in source and binary forms",
     "all advertising materials mentioning", NULL},
    {"BSD-3-Clause", "redistribution and use in source and binary forms", "endorse or promote",
     "all advertising materials mentioning"},
    {"BSD-2-Clause", "redistribution and use in source and binary forms", NULL,
     "endorse or promote"},
    {"Apache-2.0", "apache license, version 2.0", NULL, NULL},
    {"Apache-2.0", "common-licenses/apache-2.0", NULL, NULL},
    {"Artistic-1.0-Perl", "common-licenses/artistic", NULL, NULL},
    {"Artistic-2.0", "artistic license 2.0", NULL, NULL},
    {"BSD-3-Clause", "common-licenses/bsd", NULL, NULL},
    {"BSL-1.0", "boost software license", NULL, NULL},
    {"CC0-1.0", "common-licenses/cc0-1.0", NULL, NULL},
    {"MPL-1.1", "mozilla public license version 1.1", NULL, NULL},
    {"MPL-1.1", "common-licenses/mpl-1.1", NULL, NULL},
    {"MPL-2.0", "mozilla public license, v. 2.0", NULL, NULL},
    {"MPL-2.0", "mozilla public license version 2.0", NULL, NULL},
    {"MPL-2.0", "common-licenses/mpl-2.0", NULL, NULL},
    {"OFL-1.1", "sil open font license", NULL, NULL},
    {"OpenSSL", "openssl license", NULL, NULL},
    {"PSF-2.0", "python software foundation license", NULL, NULL},
    {"Unlicense", "this is free and unencumbered software released into the public domain", NULL,
     NULL},
    {"Zlib", "the origin of this software must not be misrepresented", NULL, NULL},
    {"public-domain", "in the public domain", NULL, NULL},
    {"public-domain", "into the public domain", NULL,
     "this is free and unencumbered software released into the public domain"},
};

/* Names of GNU licences in notices and in Debian's references to their texts. */
static const struct {
    const char *phrase, *kind;
} gnu_names[] = {
    {"gnu affero general public license", "AGPL"},
    {"gnu lesser general public license", "LGPL"},
    {"gnu library general public license", "LGPL"},
    {"gnu general public license", "GPL"},
    {"gnu free documentation license", "GFDL"},
    {"common-licenses/lgpl", "LGPL"},
    {"common-licenses/gpl", "GPL"},
    {"common-licenses/gfdl", "GFDL"},
};

/* How far behind the name of a licence its version and "or later" may stand. */
enum { NOTICE_REACH = 260 };

/* Where the next GNU licence name begins: a version behind it is not ours. */
static size_t notice_length(const char *behind)
{
    size_t reach = strnlen(behind, NOTICE_REACH);
    for (size_t i = 0; i < sizeof gnu_names / sizeof gnu_names[0]; i++) {
        const char *next = memmem(behind, reach, gnu_names[i].phrase, strlen(gnu_names[i].phrase));
        if (next != NULL)
            reach = (size_t)(next - behind);
    }
    return reach;
}

static bool within(const char *text, size_t size, const char *phrase)
{
    return memmem(text, size, phrase, strlen(phrase)) != NULL;
}

/* "version 2", "v3", "(gpl) 2.1", "-2.1": the digits after the first of these, or NULL. */
static const char *find_version(const char *behind, size_t size)
{
    static const char *const marks[] = {"version ", " v", "version: "};
    if (size > 1 && behind[0] == '-' && behind[1] >= '1' && behind[1] <= '3')
        return behind + 1;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t n = strlen(marks[i]);
        const char *at = memmem(behind, size, marks[i], n);
        if (at != NULL && at + n < behind + size && at[n] >= '1' && at[n] <= '3')
            return at + n;
    }
    return NULL;
}

/* A reference to /usr/share/common-licenses/GPL-2 tells where the text is, not whether later
 * versions may be used: that is left to the notice, when the file has one for this kind. */
static void add_gnu(struct license_set *set, const char *kind, const char *behind, bool reference,
                    bool later_anywhere)
{
    char name[LICENSE_NAME_SIZE];
    size_t size = notice_length(behind);
    const char *version = find_version(behind, size);
    bool later = within(behind, size, "later version") || within(behind, size, "or later") ||
                 within(behind, size, "or newer") || (reference && later_anywhere);
    if (version == NULL && reference)
        return;
    if (version == NULL)
        (void)snprintf(name, sizeof name, "%s", kind);
    else
        (void)snprintf(name, sizeof name, "%s-%.*s%s", kind,
                       version[1] == '.' && version[2] >= '0' && version[2] <= '9' ? 3 : 1, version,
                       later ? "+" : "");
    license_set_add(set, name, strlen(name));
}

static bool has_kind(const struct license_set *set, const char *kind)
{
    for (size_t i = 0; i < set->count; i++)
        if (strncmp(set->names[i], kind, strlen(kind)) == 0)
            return true;
    return false;
}

static void recognise_gnu(struct license_set *set, const char *folded)
{
    bool later = strstr(folded, "any later version") != NULL;
    for (size_t i = 0; i < sizeof gnu_names / sizeof gnu_names[0]; i++) {
        const char *phrase = gnu_names[i].phrase;
        bool reference = strncmp(phrase, "common-licenses/", 16) == 0;
        if (reference && has_kind(set, gnu_names[i].kind))
            continue;
        for (const char *at = strstr(folded, phrase); at != NULL; at = strstr(at + 1, phrase))
            add_gnu(set, gnu_names[i].kind, at + strlen(phrase), reference, later);
    }
}

/* A name without version stands in many titles; it counts only where nothing better is. */
static void drop_unversioned(struct license_set *set)
{
    static const char *const unversioned[][2] = {{"GPL-1.0-or-later", "GPL-"},
                                                 {"LGPL-2.0-or-later", "LGPL-"},
                                                 {"AGPL-3.0-or-later", "AGPL-"},
                                                 {"GFDL-1.1-or-later", "GFDL-"}};
    for (size_t k = 0; k < sizeof unversioned / sizeof unversioned[0]; k++) {
        size_t others = 0;
        size_t mine = set->count;
        for (size_t i = 0; i < set->count; i++) {
            if (strcmp(set->names[i], unversioned[k][0]) == 0)
                mine = i;
            else if (strncmp(set->names[i], unversioned[k][1], strlen(unversioned[k][1])) == 0)
                others++;
        }
        if (mine == set->count || others == 0)
            continue;
        memmove(set->names[mine], set->names[mine + 1],
                (set->count - mine - 1) * sizeof set->names[0]);
        set->count--;
    }
}

void recognise_phrases(struct license_set *set, const char *folded)
{
    recognise_gnu(set, folded);
    drop_unversioned(set);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strstr(folded, texts[i].has) == NULL ||
            (texts[i].has_too != NULL && strstr(folded, texts[i].has_too) == NULL) ||
            (texts[i].has_not != NULL && strstr(folded, texts[i].has_not) != NULL))
            continue;
        license_set_add(set, texts[i].license, strlen(texts[i].license));
    }
}

char *fold_text(const char *text, size_t size)
{
    char *folded = malloc(size + 1);
    size_t n = 0;
    if (folded == NULL)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bool space = c == ' ' || (c >= '\t' && c <= '\r') || c == '*' || c == '#' || c == '\0';
        if (!space)
            folded[n++] = c;
        else if (n > 0 && folded[n - 1] != ' ')
            folded[n++] = ' ';
    }
    folded[n] = '\0';
    return folded;
}
