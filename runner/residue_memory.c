/*
 * What a task can change without the kernel: environment, locale, floating-point mode.
 */
#include "runner/residue_parts.h"

#include "wire/residue.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    char **entries; /* copies; NULL: not looked at */
    size_t entry_count;
    char *locale; /* NULL: not looked at */
    locale_t thread_locale;
    uint64_t modes;
} before;

/* ---- Environment ---- */

static size_t count_entries(void)
{
    size_t count = 0;

    while (environ != NULL && environ[count] != NULL)
        count++;
    return count;
}

static void note_environment(void)
{
    size_t count = count_entries();

    before.entries = calloc(count + 1, sizeof *before.entries);
    before.entry_count = 0;
    while (before.entries != NULL && before.entry_count < count &&
           (before.entries[before.entry_count] = strdup(environ[before.entry_count])) != NULL)
        before.entry_count++;
    if (before.entry_count == count)
        return;
    /* No memory for the whole of it: nothing to compare with. */
    for (size_t i = 0; before.entries != NULL && i < before.entry_count; i++)
        free(before.entries[i]);
    free(before.entries);
    before.entries = NULL;
    before.entry_count = 0;
}

static bool has_entry(const char *entry)
{
    for (size_t i = 0; i < before.entry_count; i++)
        if (strcmp(before.entries[i], entry) == 0)
            return true;
    return false;
}

/* In another order it is the same: unset and set again. */
static bool is_environment_changed(void)
{
    size_t same = 0;

    if (before.entries == NULL)
        return false;
    while (same < before.entry_count && environ != NULL && environ[same] != NULL &&
           strcmp(environ[same], before.entries[same]) == 0)
        same++;
    if (same == before.entry_count && (environ == NULL || environ[same] == NULL))
        return false;
    if (count_entries() != before.entry_count)
        return true;
    for (size_t i = same; i < before.entry_count; i++)
        if (!has_entry(environ[i]))
            return true;
    return false;
}

/* ---- Floating point ---- */

/* By hand: libm's functions for it would be a library more in every runner. The flags of what
 * happened (inexact, overflow) are cleared; how to round, what traps, and whether the smallest
 * numbers become zero are modes. */
#if defined(__x86_64__)

enum { SSE_FLAGS = 0x3f, X87_FLAGS = 0x3f };

static uint64_t floating_point_modes(void)
{
    uint16_t control;

    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (uint64_t)control << 32 | (__builtin_ia32_stmxcsr() & ~(unsigned)SSE_FLAGS);
}

static void clear_floating_point_flags(void)
{
    unsigned sse = __builtin_ia32_stmxcsr();
    uint16_t x87;

    __asm__ volatile("fnstsw %0" : "=m"(x87));
    if ((sse & SSE_FLAGS) != 0)
        __builtin_ia32_ldmxcsr(sse & ~(unsigned)SSE_FLAGS);
    if ((x87 & X87_FLAGS) != 0)
        __asm__ volatile("fnclex");
}

#elif defined(__aarch64__)

static uint64_t floating_point_modes(void)
{
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void clear_floating_point_flags(void)
{
    __asm__ volatile("msr fpsr, %0" : : "r"((uint64_t)0));
}

#else

static uint64_t floating_point_modes(void)
{
    return 0;
}

static void clear_floating_point_flags(void)
{
}

#endif

/* ---- All ---- */

void memory_note(void)
{
    const char *locale = setlocale(LC_ALL, NULL);

    note_environment();
    before.locale = locale == NULL ? NULL : strdup(locale);
    before.thread_locale = uselocale((locale_t)0);
    before.modes = floating_point_modes();
}

static bool is_locale_changed(void)
{
    const char *now = setlocale(LC_ALL, NULL);

    return uselocale((locale_t)0) != before.thread_locale ||
           (before.locale != NULL && now != NULL && strcmp(now, before.locale) != 0);
}

uint32_t memory_changed(void)
{
    uint32_t changed = 0;

    if (is_environment_changed())
        changed |= RESIDUE_ENVIRONMENT;
    if (is_locale_changed())
        changed |= RESIDUE_LOCALE;
    clear_floating_point_flags();
    if (floating_point_modes() != before.modes)
        changed |= RESIDUE_FLOATING_POINT;
    return changed;
}
