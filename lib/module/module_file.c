/*
 * One module: from a path to an inspected private copy; see module_file.h.
 */
#include "module/module_file.h"

#include "base/buf.h"
#include "module/module_inspect.h"
#include "module/module_needs.h"
#include "module/module_store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct module_file {
    struct module_store *store;
    char *path;      /* as given */
    char *open_path; /* never a bare name */
    char *copy_path;
    char *libraries[LIMIT_MODULE_LIBRARIES + 1]; /* copies, NULL-terminated */
    char sha256[DIGEST_HEX + 1];
    char build_id[2 * ELF_BUILD_ID_BYTES + 1];
    char *descriptor;
    size_t descriptor_size;
    int lock; /* descriptor of the copy's folder */
    dev_t device;
    ino_t inode;
    struct stat seen; /* of the source, when it was last looked at */
    bool seen_missing;
};

/* What stands behind a module while it is opened. */
struct opening {
    struct module_bytes bytes;
    struct module_needs needs;
    char copy_digest[DIGEST_HEX + 1];
};

/* The copy's name: of the module alone, or of all files when it brings some. */
static bool compute_copy_digest(struct opening *opening, const char *sha256, struct error *error)
{
    struct buf list;
    char hex[DIGEST_HEX + 1];
    bool ok = true;

    if (opening->needs.count == 0) {
        memcpy(opening->copy_digest, sha256, sizeof opening->copy_digest);
        return true;
    }
    buf_init(&list, LIMIT_MIB);
    buf_printf(&list, "%s\n", sha256);
    for (size_t i = 0; i < opening->needs.count && ok; i++) {
        const struct module_library *library = &opening->needs.items[i];

        ok = digest_of(library->bytes.data, library->bytes.size, hex, error);
        buf_printf(&list, "%s %s\n", hex, library->name);
    }
    ok = ok && (buf_ok(&list) || error_out_of_memory(error)) &&
         digest_of(list.data, list.size, opening->copy_digest, error);
    buf_free(&list);
    return ok;
}

static bool read_source(struct module_file *file, struct opening *opening, struct error *error)
{
    bool check = !file->store->config.allow_writable;
    struct elf_image image;

    if (!module_bytes_open(&opening->bytes, file->open_path, error) ||
        (check && !module_bytes_check_owner(&opening->bytes, error)) ||
        !elf_image_read(&image, opening->bytes.data, opening->bytes.size, error) ||
        !digest_of(opening->bytes.data, opening->bytes.size, file->sha256, error) ||
        !module_needs_read(&opening->needs, &opening->bytes, check, error) ||
        !compute_copy_digest(opening, file->sha256, error))
        return false;
    memcpy(file->build_id, image.build_id, sizeof file->build_id);
    file->device = opening->bytes.about.st_dev;
    file->inode = opening->bytes.about.st_ino;
    file->seen = opening->bytes.about;
    return true;
}

static bool make_path(char **out, const struct module_store *store, const char *digest,
                      const char *name, struct error *error)
{
    if (asprintf(out, "%s/%s/%s", module_store_folder(store), digest, name) >= 0)
        return true;
    *out = NULL;
    return error_out_of_memory(error);
}

static bool copy_files(struct module_file *file, struct opening *opening, struct error *error)
{
    struct store_item items[LIMIT_MODULE_LIBRARIES + 1];
    const char *slash = strrchr(file->open_path, '/');
    const char *name = slash + 1;
    bool ok = make_path(&file->copy_path, file->store, opening->copy_digest, name, error);

    items[0] = (struct store_item){.name = name, .bytes = &opening->bytes};
    for (size_t i = 0; i < opening->needs.count && ok; i++) {
        struct module_library *library = &opening->needs.items[i];

        items[i + 1] = (struct store_item){.name = library->name, .bytes = &library->bytes};
        ok =
            make_path(&file->libraries[i], file->store, opening->copy_digest, library->name, error);
    }
    if (!ok)
        return false;
    file->lock = module_store_install(file->store, opening->copy_digest, items,
                                      opening->needs.count + 1, error);
    return file->lock >= 0;
}

static bool inspect_copy(struct module_file *file, struct error *error)
{
    const struct module_store_config *config = &file->store->config;
    struct module_inspect_request request = {.runner_program = config->runner_program,
                                             .path = file->copy_path,
                                             .dependencies = module_file_dependencies(file),
                                             .uid = config->handler_uid,
                                             .gid = config->handler_gid,
                                             .pass_env = config->pass_env,
                                             .stop = config->stop};

    file->descriptor = module_inspect_file(&request, &file->descriptor_size, error);
    if (file->descriptor != NULL)
        return true;
    if (config->handler_uid != (uid_t)-1 && strstr(error->text, "Permission denied") != NULL)
        error_set(error, error->code,
                  "%s (user %u of --handler-user must be able to read '%s': open its folders, or "
                  "choose another with --module-dir)",
                  error->text, config->handler_uid, file->copy_path);
    return false;
}

static bool open_parts(struct module_file *file, struct opening *opening, struct error *error)
{
    return read_source(file, opening, error) && copy_files(file, opening, error) &&
           inspect_copy(file, error);
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
    struct opening *opening = calloc(1, sizeof *opening);
    bool ok = file != NULL && opening != NULL;

    if (ok) {
        file->store = store;
        file->lock = -1;
        file->path = strdup(path);
        file->open_path = make_open_path(path);
        ok = file->path != NULL && file->open_path != NULL;
    }
    if (!ok)
        error_out_of_memory(error);
    else if (!open_parts(file, opening, error))
        ok = error_wrap(error, "%s", path);
    if (opening != NULL) {
        module_bytes_close(&opening->bytes);
        module_needs_free(&opening->needs);
        free(opening);
    }
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
    if (file->lock >= 0)
        close(file->lock);
    for (size_t i = 0; i < LIMIT_MODULE_LIBRARIES; i++)
        free(file->libraries[i]);
    free(file->path);
    free(file->open_path);
    free(file->copy_path);
    free(file->descriptor);
    free(file);
}

const char *module_file_path(const struct module_file *file)
{
    return file->path;
}

const char *module_file_copy_path(const struct module_file *file)
{
    return file->copy_path;
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

const char *const *module_file_dependencies(const struct module_file *file)
{
    return (const char *const *)file->libraries;
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
