/*
 * Reads the headers of a shared object; see elf_image.h.
 */
#include "module/elf_image.h"

#include "module/digest.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
#else
#define NATIVE_CLASS ELFCLASS32
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif
#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define NATIVE_MACHINE EM_AARCH64
#else
#define NATIVE_MACHINE 0 /* left to the dynamic loader */
#endif

static bool is_inside(const struct elf_image *image, uint64_t offset, uint64_t size)
{
    return offset <= image->size && size <= image->size - offset;
}

static bool truncated(const struct elf_image *image, uint64_t wanted, struct error *error)
{
    return error_set(error, ERROR_CONFIG,
                     "is truncated: it has %zu bytes, its headers speak of %llu; copy it again",
                     image->size, (unsigned long long)wanted);
}

static bool check_header(const struct elf_image *image, ElfW(Ehdr) * header, struct error *error)
{
    if (image->size < SELFMAG || memcmp(image->data, ELFMAG, SELFMAG) != 0)
        return error_set(error, ERROR_CONFIG, "is not a shared object (no ELF file)");
    if (image->size < sizeof *header)
        return truncated(image, sizeof *header, error);
    memcpy(header, image->data, sizeof *header);
    if (header->e_ident[EI_CLASS] != NATIVE_CLASS || header->e_ident[EI_DATA] != NATIVE_DATA ||
        (NATIVE_MACHINE != 0 && header->e_machine != NATIVE_MACHINE))
        return error_set(error, ERROR_CONFIG,
                         "was built for another kind of machine (ELF machine %u): build it for "
                         "this one",
                         header->e_machine);
    if (header->e_type != ET_DYN)
        return error_set(error, ERROR_CONFIG,
                         "is an ELF file but no shared object: link it with -shared");
    return true;
}

static bool get_program_header(const struct elf_image *image, const ElfW(Ehdr) * header,
                               unsigned index, ElfW(Phdr) * program)
{
    uint64_t offset = header->e_phoff + (uint64_t)index * header->e_phentsize;

    if (header->e_phentsize < sizeof *program || !is_inside(image, offset, sizeof *program))
        return false;
    memcpy(program, image->data + offset, sizeof *program);
    return true;
}

/* A file that was cut off: the loader would map it and die of SIGBUS. */
static bool check_whole(const struct elf_image *image, const ElfW(Ehdr) * header,
                        struct error *error)
{
    uint64_t sections = (uint64_t)header->e_shnum * header->e_shentsize;
    ElfW(Phdr) program;

    if (header->e_shoff != 0 && !is_inside(image, header->e_shoff, sections))
        return truncated(image, header->e_shoff + sections, error);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!get_program_header(image, header, i, &program))
            return truncated(image, header->e_phoff, error);
        if (!is_inside(image, program.p_offset, program.p_filesz))
            return truncated(image, program.p_offset + program.p_filesz, error);
    }
    return true;
}

static void read_notes(struct elf_image *image, uint64_t offset, uint64_t size)
{
    uint64_t end = offset + size;
    ElfW(Nhdr) note;

    while (offset + sizeof note <= end) {
        uint64_t name, text;

        memcpy(&note, image->data + offset, sizeof note);
        name = offset + sizeof note;
        text = name + ((uint64_t)note.n_namesz + 3) / 4 * 4;
        if (text + note.n_descsz > end)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(image->data + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note.n_descsz <= ELF_BUILD_ID_BYTES)
            digest_put_hex(image->data + text, note.n_descsz, image->build_id);
        offset = text + ((uint64_t)note.n_descsz + 3) / 4 * 4;
    }
}

/* Where the bytes at a virtual address are in the file; 0: nowhere. */
static uint64_t find_offset(const struct elf_image *image, const ElfW(Ehdr) * header,
                            uint64_t address)
{
    ElfW(Phdr) program;

    for (unsigned i = 0; i < header->e_phnum; i++)
        if (get_program_header(image, header, i, &program) && program.p_type == PT_LOAD &&
            address >= program.p_vaddr && address - program.p_vaddr < program.p_filesz)
            return program.p_offset + (address - program.p_vaddr);
    return 0;
}

/* NUL-terminated text in the string table; NULL when it leaves the file. */
static const char *get_string(const struct elf_image *image, uint64_t table, uint64_t at)
{
    if (table == 0 || at >= image->size || !is_inside(image, table + at, 1) ||
        memchr(image->data + table + at, '\0', image->size - (table + at)) == NULL)
        return NULL;
    return (const char *)image->data + table + at;
}

static void take_needed(struct elf_image *image, const char *text)
{
    if (text != NULL && image->needed_count < ELF_NEEDED)
        image->needed[image->needed_count++] = text;
    else
        image->needs_unread = true;
}

static void take_entry(struct elf_image *image, const ElfW(Dyn) * entry, uint64_t strings)
{
    switch (entry->d_tag) {
    case DT_NEEDED:
        take_needed(image, get_string(image, strings, entry->d_un.d_val));
        break;
    case DT_RPATH:
        image->rpath = get_string(image, strings, entry->d_un.d_val);
        break;
    case DT_RUNPATH:
        image->runpath = get_string(image, strings, entry->d_un.d_val);
        break;
    case DT_SONAME:
        image->soname = get_string(image, strings, entry->d_un.d_val);
        break;
    default:
        break;
    }
}

/* The loader stops at DT_NULL. */
static size_t count_entries(const unsigned char *at, size_t most)
{
    ElfW(Dyn) entry;
    size_t count = 0;

    while (count < most) {
        memcpy(&entry, at + count * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        count++;
    }
    return count;
}

static void read_dynamic(struct elf_image *image, const ElfW(Ehdr) * header,
                         const ElfW(Phdr) * program)
{
    const unsigned char *at = image->data + program->p_offset;
    size_t count = count_entries(at, program->p_filesz / sizeof(ElfW(Dyn)));
    uint64_t strings = 0;
    ElfW(Dyn) entry;

    for (size_t i = 0; i < count; i++) {
        memcpy(&entry, at + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_STRTAB)
            strings = find_offset(image, header, entry.d_un.d_ptr);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(&entry, at + i * sizeof entry, sizeof entry);
        take_entry(image, &entry, strings);
    }
}

bool elf_image_read(struct elf_image *image, const void *data, size_t size, struct error *error)
{
    ElfW(Ehdr) header = {0};
    ElfW(Phdr) program;

    *image = (struct elf_image){.data = data, .size = size};
    if (!check_header(image, &header, error) || !check_whole(image, &header, error))
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (!get_program_header(image, &header, i, &program))
            continue;
        if (program.p_type == PT_NOTE)
            read_notes(image, program.p_offset, program.p_filesz);
        else if (program.p_type == PT_DYNAMIC)
            read_dynamic(image, &header, &program);
    }
    return true;
}
