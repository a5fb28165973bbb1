/*
 * The tables of a shared object, read with libelf; see lint.h.
 */
#include "ctl/author/lint.h"

#include "module/module_bytes.h"

#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <string.h>

static const char by_the_sdk[] = "build it with pgflow_add_module(), or with the flags that "
                                 "pkg-config --libs pgflow-sdk gives";

enum { NAMES_SHOWN = 10 };

/* What the tables said; judged at the end. */
struct seen {
    bool entry;
    size_t exports, uniques;
    bool text_relocations, bind_now, relro, build_id;
    bool has_stack, executable_stack, writable_code;
};

static void look_at_entry(struct lint *lint, Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    const char *name = NULL;
    size_t names = 0;
    if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT) {
        lint_add(lint, "entry", "define it as PGF_EXPORT const pgf_module pgflow_module_v1 = {...}",
                 "pgflow_module_v1 is no data object");
        return;
    }
    if (section == NULL || gelf_getshdr(section, &header) == NULL ||
        elf_getshdrstrndx(elf, &names) != 0)
        return;
    name = elf_strptr(elf, names, header.sh_name);
    if (header.sh_type == SHT_NOBITS)
        lint_add(lint, "entry", "make it a constant: constexpr in C++",
                 "the descriptor is filled by code when the file is mapped");
    else if ((header.sh_flags & SHF_WRITE) != 0 && name != NULL &&
             strncmp(name, ".data.rel.ro", 12) != 0)
        lint_add(lint, "entry", "declare it const", "the descriptor lies in writable memory (%s)",
                 name);
}

static void look_at_symbol(struct lint *lint, struct seen *seen, Elf *elf, const GElf_Sym *symbol,
                           const char *name)
{
    unsigned char binding = GELF_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || binding == STB_LOCAL)
        return;
    if (binding == STB_GNU_UNIQUE && seen->uniques++ < NAMES_SHOWN)
        lint_add(lint, "unique", "compile with -fno-gnu-unique; pgflow_add_module() does",
                 "'%s' is a process-wide C++ static (STB_GNU_UNIQUE)", name);
    if (strcmp(name, "pgflow_module_v1") == 0) {
        seen->entry = true;
        look_at_entry(lint, elf, symbol);
    } else if (seen->exports++ < NAMES_SHOWN) {
        lint_add(lint, "exports", by_the_sdk, "'%s' is exported", name);
    }
}

static void look_at_symbols(struct lint *lint, struct seen *seen, Elf *elf, Elf_Scn *section,
                            const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize > 0 ? header->sh_size / header->sh_entsize : 0;
    GElf_Sym symbol;
    for (size_t i = 0; data != NULL && i < count && i <= INT32_MAX; i++) {
        const char *name = gelf_getsym(data, (int)i, &symbol) != NULL
                               ? elf_strptr(elf, header->sh_link, symbol.st_name)
                               : NULL;
        if (name != NULL)
            look_at_symbol(lint, seen, elf, &symbol, name);
    }
}

/* $ORIGIN is where the host puts what a module brings along. */
static bool is_origin(const char *path, size_t size)
{
    return (size >= 7 && strncmp(path, "$ORIGIN", 7) == 0) ||
           (size >= 9 && strncmp(path, "${ORIGIN}", 9) == 0);
}

static void look_at_run_path(struct lint *lint, const char *paths)
{
    while (paths != NULL && *paths) {
        size_t size = strcspn(paths, ":");
        if (size > 0 && !is_origin(paths, size))
            lint_add(lint, "rpath",
                     "use $ORIGIN for libraries that lie beside the module, else no RPATH",
                     "libraries are searched in '%.*s', a folder of the machine that built it",
                     (int)size, paths);
        paths += size + (paths[size] == ':');
    }
}

static void look_at_dynamic(struct lint *lint, struct seen *seen, Elf *elf, Elf_Scn *section,
                            const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize > 0 ? header->sh_size / header->sh_entsize : 0;
    GElf_Dyn entry;
    for (size_t i = 0; data != NULL && i < count && i <= INT32_MAX; i++) {
        if (gelf_getdyn(data, (int)i, &entry) == NULL || entry.d_tag == DT_NULL)
            return;
        if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
            look_at_run_path(lint, elf_strptr(elf, header->sh_link, (size_t)entry.d_un.d_val));
        if (entry.d_tag == DT_TEXTREL ||
            (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0))
            seen->text_relocations = true;
        if (entry.d_tag == DT_BIND_NOW ||
            (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0) ||
            (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0))
            seen->bind_now = true;
    }
}

static void look_at_note(struct seen *seen, Elf_Scn *section)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Nhdr note;
    size_t name = 0;
    size_t content = 0;
    size_t at = 0;
    while (data != NULL && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 &&
            memcmp((const char *)data->d_buf + name, "GNU", 4) == 0)
            seen->build_id = true;
    }
}

static void look_at_sections(struct lint *lint, struct seen *seen, Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            continue;
        if (header.sh_type == SHT_DYNSYM)
            look_at_symbols(lint, seen, elf, section, &header);
        else if (header.sh_type == SHT_DYNAMIC)
            look_at_dynamic(lint, seen, elf, section, &header);
        else if (header.sh_type == SHT_NOTE)
            look_at_note(seen, section);
    }
}

static void look_at_segments(struct seen *seen, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr header;
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &header) != NULL; i++) {
        if (header.p_type == PT_GNU_RELRO)
            seen->relro = true;
        if (header.p_type == PT_GNU_STACK) {
            seen->has_stack = true;
            seen->executable_stack = (header.p_flags & PF_X) != 0;
        }
        if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0 &&
            (header.p_flags & PF_X) != 0)
            seen->writable_code = true;
    }
}

static void judge(struct lint *lint, const struct seen *seen)
{
    if (!seen->entry)
        lint_add(lint, "entry", "define it as PGF_EXPORT const pgf_module pgflow_module_v1 = {...}",
                 "pgflow_module_v1 is not exported");
    if (seen->exports > NAMES_SHOWN)
        lint_add(lint, "exports", by_the_sdk, "so are %zu more", seen->exports - NAMES_SHOWN);
    if (seen->uniques > NAMES_SHOWN)
        lint_add(lint, "unique", by_the_sdk, "so are %zu more", seen->uniques - NAMES_SHOWN);
    if (seen->text_relocations)
        lint_add(lint, "textrel", "compile everything in it with -fPIC",
                 "its code is changed when it is loaded (TEXTREL)");
    if (!seen->relro)
        lint_add(lint, "relro", "link with -Wl,-z,relro",
                 "its tables stay writable once it is loaded");
    if (!seen->bind_now)
        lint_add(lint, "now", "link with -Wl,-z,now",
                 "its names are not marked to be resolved at once, so its tables stay writable");
    if (!seen->build_id)
        lint_add(lint, "build-id", "link with -Wl,--build-id=sha1",
                 "it has no build-id, by which banner, logs and core files know it");
    if (!seen->has_stack || seen->executable_stack)
        lint_add(lint, "stack", "link with -Wl,-z,noexecstack", "it asks for an executable stack");
    if (seen->writable_code)
        lint_add(lint, "code", "link without -N", "its code is writable");
}

bool lint_elf(struct lint *lint, const struct module_bytes *bytes, struct error *error)
{
    struct seen seen = {.entry = false};
    size_t sections = 0;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return error_set(error, ERROR_INTERNAL, "libelf: %s", elf_errmsg(-1));
    Elf *elf = elf_memory(bytes->data, bytes->size);
    if (elf == NULL)
        return error_set(error, ERROR_CONFIG, "libelf: %s", elf_errmsg(-1));
    bool readable = elf_getshdrnum(elf, &sections) == 0 && sections > 0;
    if (readable) {
        look_at_sections(lint, &seen, elf);
        look_at_segments(&seen, elf);
        judge(lint, &seen);
    }
    (void)elf_end(elf);
    return readable ||
           error_set(error, ERROR_CONFIG, "has no section headers to look at: do not strip them");
}
