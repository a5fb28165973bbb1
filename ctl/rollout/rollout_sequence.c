/*
 * Which blocks a manifest needs, and with which names. The blocks themselves are
 * those of the guide, compiled in.
 */
#include "ctl/rollout/rollout_sequence.h"

#include "ctl/rollout/manifest.h"
#include "sql/rollout_texts.h"

#include <string.h>

struct writer {
    struct buf *out;
    const struct manifest *manifest;
    int step;
};

static const char *find_text(const char *name)
{
    for (size_t i = 0; i < rollout_texts_count; i++) {
        if (strcmp(rollout_texts[i].name, name) == 0)
            return rollout_texts[i].sql;
    }
    return "";
}

/* standard_conforming_strings is on since PostgreSQL 9.1: only quotes are doubled. */
static void put_literal(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_putc(out, '\'');
        buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

/* True when `text` begins with :'name'; the value is put then. */
static bool put_value(struct buf *out, const char *text, const char *name, const char *value)
{
    size_t size = strlen(name);
    if (value == NULL || strncmp(text, ":'", 2) != 0 || strncmp(text + 2, name, size) != 0 ||
        text[2 + size] != '\'')
        return false;
    put_literal(out, value);
    return true;
}

static void put_block(struct writer *writer, const char *name, const char *flow)
{
    const struct manifest *manifest = writer->manifest;
    const char *text = find_text(name);
    while (*text) {
        bool put = put_value(writer->out, text, "deployment", manifest->deployment) ||
                   put_value(writer->out, text, "manifest", manifest->text.data) ||
                   put_value(writer->out, text, "flow", flow);
        if (put)
            text = strchr(text + 2, '\'') + 1;
        else
            buf_putc(writer->out, *text++);
    }
    buf_putc(writer->out, '\n');
}

static void put_heading(struct writer *writer, const char *title)
{
    buf_printf(writer->out, "-- ---- %d. %s ----\n", ++writer->step, title);
}

static void put_step(struct writer *writer, const char *title, const char *block)
{
    put_heading(writer, title);
    put_block(writer, block, NULL);
}

static bool named_before(const struct manifest *manifest, size_t entry, const char *action)
{
    for (size_t i = 0; i < entry; i++) {
        const char *flow = manifest_flow(manifest, i);
        if (flow != NULL && strcmp(manifest_text(manifest, i, "action"), action) == 0 &&
            strcmp(flow, manifest_flow(manifest, entry)) == 0)
            return true;
    }
    return false;
}

/* The block once for each flow that an entry with this action serves; without
 * one, once for a flow that the reader names. */
static void put_flow_step(struct writer *writer, const char *title, const char *block,
                          const char *action, const char *which)
{
    bool any = false;
    put_heading(writer, title);
    for (size_t i = 0; i < manifest_count(writer->manifest); i++) {
        const char *flow = manifest_flow(writer->manifest, i);
        if (flow == NULL || strcmp(manifest_text(writer->manifest, i, "action"), action) != 0 ||
            named_before(writer->manifest, i, action))
            continue;
        put_block(writer, block, flow);
        any = true;
    }
    if (!any) {
        buf_printf(writer->out, "-- First: \\set flow '%s'\n", which);
        put_block(writer, block, NULL);
    }
}

/* Hosts of a replaced function that carry several modules are a shared queue on
 * its way from one version to the next. */
static bool carries_versions(const struct manifest *manifest)
{
    for (size_t i = 0; i < manifest_count(manifest); i++) {
        if (strcmp(manifest_text(manifest, i, "action"), "replace") == 0 &&
            manifest_modules(manifest, i) > 1)
            return true;
    }
    return false;
}

static void put_fence(struct writer *writer, bool replaces)
{
    put_step(writer, "Load the manifest", "load");
    put_step(writer, "Insert, and disable what is replaced", "fence");
    if (replaces) {
        put_step(writer, "Deprecate the old workers", "deprecate");
        put_step(writer, "Wait until none of them works", "wait");
    }
    if (replaces || manifest_has(writer->manifest, "add"))
        put_step(writer, "Deploy every new host, then confirm who stands by", "confirm_modules");
}

static void put_versions(struct writer *writer, bool adds, bool shares, bool retires)
{
    if (adds || shares)
        put_flow_step(writer, "Switch new starts, unless hosts have done it", "switch", "add",
                      "the new concrete slug");
    if (retires) {
        put_step(writer, "Deprecate the retired functions' workers", "deprecate_retired");
        put_flow_step(writer, "Retire the old version", "retire", "retire", "the old slug");
    } else if (shares || manifest_has(writer->manifest, "keep-draining")) {
        put_flow_step(writer, "Wait until the old version is drained", "drain", "keep-draining",
                      "the old concrete slug");
        buf_puts(writer->out,
                 shares ? "-- Once it is drained: the last block, then a manifest with the new "
                          "version's modules alone.\n"
                        : "-- Once it is drained: a manifest that retires its functions, and "
                          "then the last block.\n");
        put_flow_step(writer, "Retire the old version", "retire", "keep-draining",
                      "the old concrete slug");
    }
}

void rollout_sequence_put(struct buf *out, const struct manifest *manifest)
{
    struct writer writer = {.out = out, .manifest = manifest};
    bool retires = manifest_has(manifest, "retire");
    bool replaces = manifest_has(manifest, "replace");
    put_fence(&writer, replaces);
    if (retires)
        put_flow_step(&writer, "Check that the old version is drained", "drain", "retire",
                      "the old concrete slug");
    put_step(&writer, "Set the final states", "apply");
    put_step(&writer, "Confirm the service", "confirm_coverage");
    put_versions(&writer, manifest_has(manifest, "add"), replaces && carries_versions(manifest),
                 retires);
    put_step(&writer, "Where it stands, at any time", "status");
}
