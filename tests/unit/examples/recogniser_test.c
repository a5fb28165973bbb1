/* The recogniser of license_audit on small samples of both kinds of files. */
#include "recogniser.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* The recognised names, joined by a comma and a space. */
static const char *names_in(const char *text, size_t size, enum recognised_by *by)
{
    static char joined[4096];
    struct license_set set;
    bool failed = false;
    *by = recognise(&set, text, size, &failed);
    cr_assert(!failed);
    joined[0] = '\0';
    for (size_t i = 0; i < set.count; i++) {
        strcat(joined, i > 0 ? ", " : "");
        strcat(joined, set.names[i]);
    }
    return joined;
}

static void recognises(const char *text, enum recognised_by expected_by, const char *expected)
{
    enum recognised_by by;

    const char *names = names_in(text, strlen(text), &by);

    cr_assert_str_eq(names, expected);
    cr_assert_eq(by, expected_by);
}

#define DEP5 "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"

Test(dep5, reads_license_fields_of_all_paragraphs_once)
{
    recognises(DEP5 "Upstream-Name: x\n\nFiles: *\nCopyright: 1999 A\nLicense: GPL-2+\n\n"
                    "Files: debian/*\nLicense: GPL-2+\n\nLicense: Expat\n Permission is hereby\n",
               RECOGNISED_BY_DEP5, "GPL-2.0-or-later, MIT");
}

Test(dep5, splits_expressions_into_their_names)
{
    recognises(DEP5 "License: GPL-1+ or Artistic, and BSD-3-clause | Zlib and/or ISC\n",
               RECOGNISED_BY_DEP5, "GPL-1.0-or-later, Artistic-1.0-Perl, BSD-3-Clause, Zlib, ISC");
}

Test(dep5, leaves_exceptions_out_of_names)
{
    recognises(DEP5 "License: GPL-3+ with Autoconf exception\n", RECOGNISED_BY_DEP5,
               "GPL-3.0-or-later");
}

Test(dep5, knows_the_spellings_of_gnu_licences)
{
    recognises(DEP5 "License: GPL-2\nLicense: LGPLv2.1+\nLicense: AGPL-3.0-or-later\n"
                    "License: GFDL-NIV-1.3+\nLicense: GPL (>= 3)\nLicense: GNU GPL v2 or later\n",
               RECOGNISED_BY_DEP5,
               "GPL-2.0-only, LGPL-2.1-or-later, AGPL-3.0-or-later, GFDL-1.3-or-later, "
               "GPL-3.0-or-later, GPL-2.0-or-later");
}

Test(dep5, keeps_an_unknown_name_as_it_is)
{
    recognises(DEP5 "License: HPND-sell-variant\nLicense: GPLesque\n", RECOGNISED_BY_DEP5,
               "HPND-sell-variant, GPLesque");
}

Test(dep5, takes_what_json_cannot_hold_out_of_names)
{
    recognises(DEP5 "License: my\x01 \"own\"\xff\\ one\n", RECOGNISED_BY_DEP5, "my own one");
}

Test(dep5, cuts_endless_names)
{
    enum recognised_by by;
    char text[8192] = DEP5 "License: ";
    size_t size = strlen(text);
    memset(text + size, 'x', sizeof text - size);

    const char *names = names_in(text, sizeof text, &by);

    cr_assert_eq(strlen(names), LICENSE_NAME_SIZE - 1);
    cr_assert_eq(by, RECOGNISED_BY_DEP5);
}

Test(dep5, is_read_as_text_when_it_has_no_license_field)
{
    recognises(DEP5 "Files: *\nCopyright: 1999 A\n\nThis is in the public domain.\n",
               RECOGNISED_BY_TEXT, "public-domain");
}

Test(dep5, says_when_names_do_not_fit)
{
    struct license_set set;
    bool failed = false;
    char text[8192] = DEP5;
    for (int i = 0; i < LICENSE_SET_SIZE + 1; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "License: own-%d\n", i);

    recognise(&set, text, strlen(text), &failed);

    cr_assert_eq(set.count, LICENSE_SET_SIZE);
    cr_assert(set.full);
}

Test(text, ignores_license_fields_of_another_format)
{
    recognises("License: MIT\n", RECOGNISED_BY_NOTHING, "");
}

Test(text, recognises_a_gnu_notice_across_lines)
{
    recognises("This program is free software; you can redistribute it and/or modify\n"
               " * it under the terms of the GNU General Public\n * License as published by the\n"
               " * Free Software Foundation; either version 2, or (at your option)\n"
               " * any later version.\n",
               RECOGNISED_BY_TEXT, "GPL-2.0-or-later");
}

Test(text, tells_one_version_from_later_ones)
{
    recognises("under the terms of the GNU Lesser General Public License, version 2.1, only.",
               RECOGNISED_BY_TEXT, "LGPL-2.1-only");
}

Test(text, gives_each_licence_its_own_version)
{
    recognises("The library is under the GNU Lesser General Public License; the tools are under "
               "the GNU General Public License version 3.",
               RECOGNISED_BY_TEXT, "LGPL-2.0-or-later, GPL-3.0-only");
}

Test(text, uses_debians_references_where_there_is_no_notice)
{
    recognises("The full text is in /usr/share/common-licenses/GPL-2.", RECOGNISED_BY_TEXT,
               "GPL-2.0-only");
}

Test(text, prefers_the_notice_to_the_reference)
{
    recognises("GNU General Public License; either version 2, or any later version.\nOn Debian "
               "systems see /usr/share/common-licenses/GPL-3.",
               RECOGNISED_BY_TEXT, "GPL-2.0-or-later");
}

Test(text, recognises_mit_and_isc)
{
    recognises("Permission is hereby granted, free of charge, to any person obtaining a copy of",
               RECOGNISED_BY_TEXT, "MIT");
    recognises("Permission to use, copy, modify, and/or distribute this software for any purpose "
               "with or without fee",
               RECOGNISED_BY_TEXT, "ISC");
}

Test(text, tells_the_bsd_licences_apart)
{
    recognises("Redistribution and use in source and binary forms, with or without",
               RECOGNISED_BY_TEXT, "BSD-2-Clause");
    recognises("Redistribution and use in source and binary forms ... to endorse or promote",
               RECOGNISED_BY_TEXT, "BSD-3-Clause");
    recognises("Redistribution and use in source and binary forms ... All advertising materials "
               "mentioning features ... to endorse or promote",
               RECOGNISED_BY_TEXT, "BSD-4-Clause");
}

Test(text, finds_nothing_in_nothing)
{
    enum recognised_by by;

    recognises("", RECOGNISED_BY_NOTHING, "");
    recognises("All rights reserved.", RECOGNISED_BY_NOTHING, "");
    names_in("\0\xff\0GNU\0", 8, &by);
    cr_assert_eq(by, RECOGNISED_BY_NOTHING);
}

Test(families, are_known_for_normalised_names)
{
    cr_assert_str_eq(license_family("GPL-2.0-or-later"), "copyleft");
    cr_assert_str_eq(license_family("LGPL-2.1-only"), "weak-copyleft");
    cr_assert_str_eq(license_family("CC-BY-SA-4.0"), "copyleft");
    cr_assert_str_eq(license_family("CC-BY-4.0"), "permissive");
    cr_assert_str_eq(license_family("MIT"), "permissive");
    cr_assert_str_eq(license_family("CC0-1.0"), "public-domain");
    cr_assert_str_eq(license_family("my own one"), "other");
}
