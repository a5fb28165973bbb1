/*
 * One module: from a path to inspected, sealed bytes; see module_file.h.
 */
#include "module/module_file.h"

#include "module/module_inspect.h"
#include "module/module_parts.h"
#include "module/module_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct module_file {
    struct module_store *store;
    char *path;      /* as given */
    char *open_path; /* never a bare name */
    struct module_parts parts;
    char sha256[DIGEST_HEX + 1];
    char build_id[2 * ELF_BUILD_ID_BYTES + 1];
    char *descriptor;
    size_t descriptor_size;
    dev_t device;
    ino_t inode;
    struct stat seen; /* of the source, when it was last looked at */
    bool seen_missing;
};

static bool read_source(struct module_file *file, struct module_source *source, struct error *error)
{
    bool check_owner = !file->store->config.allow_writable;

    if (!module_source_read(source, file->open_path, check_owner, error) ||
        !digest_of(source->bytes.data, source->bytes.size, file->sha256, error))
        return false;
    memcpy(file->build_id, source->image.build_id, sizeof file->build_id);
    file->device = source->bytes.about.st_dev;
    file->inode = source->bytes.about.st_ino;
    file->seen = source->bytes.about;
    return true;
}

static void keep_copy(struct module_file *file, size_t place, const char *build_id,
                      const char *name, const struct module_bytes *bytes)
{
    char *path = module_store_keep(file->store, build_id, name, bytes);

    if (path != NULL)
        module_part_rename(&file->parts.items[place], path);
}

/* What fails here costs nothing but symbols. */
static void keep_copies(struct module_file *file, const struct module_source *source)
{
    keep_copy(file, 0, file->build_id, strrchr(file->open_path, '/') + 1, &source->bytes);
    for (size_t i = 0; i < source->needs.count; i++) {
        const struct module_library *library = &source->needs.items[i];
        struct elf_image image;

        if (elf_image_read(&image, library->bytes.data, library->bytes.size, NULL))
            keep_copy(file, i + 1, image.build_id, library->name, &library->bytes);
    }
}

static bool inspect(struct module_file *file, struct error *error)
{
    const struct module_store_config *config = &file->store->config;
    struct module_inspect_request request = {.runner_program = config->runner_program,
                                             .parts = file->parts.items,
                                             .count = file->parts.count,
                                             .uid = config->handler_uid,
                                             .gid = config->handler_gid,
                                             .pass_env = config->pass_env,
                                             .stop = config->stop};

    file->descriptor = module_inspect_parts(&request, &file->descriptor_size, error);
    return file->descriptor != NULL;
}

static bool open_parts(struct module_file *file, struct module_source *source, struct error *error)
{
    if (!read_source(file, source, error) || !module_parts_take(&file->parts, source, error))
        return false;
    keep_copies(file, source);
    return inspect(file, error);
}

/* Only a path, never a name that the loader would look for in its folders. */
static char *make_open_path(const char *path)
{
    char *result = NULL;

    if (strchr(path, '/') != NULL)
        return strdup(path);
    return asprintf(&result, "./%s", path) < 0 ? NULL : result;
}

struct module_file *module_file_open(struct module_store *store, const char *path,
                                     struct error *error)
{
    struct module_file *file = calloc(1, sizeof *file);
    struct module_source *source = calloc(1, sizeof *source);
    bool ok = file != NULL && source != NULL;

    if (ok) {
        file->store = store;
        file->path = strdup(path);
        file->open_path = make_open_path(path);
        ok = file->path != NULL && file->open_path != NULL;
    }
    if (!ok)
        (void)error_out_of_memory(error);
    else if (!open_parts(file, source, error))
        ok = error_wrap(error, "%s", path);
    if (source != NULL)
        module_source_close(source);
    free(source);
    if (!ok) {
        module_file_close(file);
        return NULL;
    }
    return file;
}

void module_file_close(struct module_file *file)
{
    if (file == NULL)
        return;
    module_parts_free(&file->parts);
    free(file->path);
    free(file->open_path);
    free(file->descriptor);
    free(file);
}

const char *module_file_path(const struct module_file *file)
{
    return file->path;
}

const char *module_file_sha256(const struct module_file *file)
{
    return file->sha256;
}

const char *module_file_build_id(const struct module_file *file)
{
    return file->build_id;
}

const char *module_file_descriptor(const struct module_file *file, size_t *size)
{
    if (size != NULL)
        *size = file->descriptor_size;
    return file->descriptor;
}

const struct module_part *module_file_parts(const struct module_file *file, size_t *count)
{
    *count = file->parts.count;
    return file->parts.items;
}

bool module_file_same(const struct module_file *a, const struct module_file *b)
{
    return a->device == b->device && a->inode == b->inode && strcmp(a->sha256, b->sha256) == 0;
}

static bool is_same_stat(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Touched, or installed again with the same content, is no change. */
static bool has_other_bytes(const struct module_file *file)
{
    struct module_bytes bytes;
    char hex[DIGEST_HEX + 1] = "";
    bool readable = module_bytes_open(&bytes, file->open_path, NULL) &&
                    digest_of(bytes.data, bytes.size, hex, NULL);

    module_bytes_close(&bytes);
    return !readable || strcmp(hex, file->sha256) != 0;
}

bool module_file_changed(struct module_file *file)
{
    struct stat now;

    for (size_t i = 0; i < file->parts.count; i++)
        module_store_touch(file->store, file->parts.items[i].path);
    if (stat(file->open_path, &now) != 0) {
        bool news = !file->seen_missing;

        file->seen_missing = true;
        return news;
    }
    if (!file->seen_missing && is_same_stat(&now, &file->seen))
        return false;
    file->seen_missing = false;
    file->seen = now;
    return has_other_bytes(file);
}
