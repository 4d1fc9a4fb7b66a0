/* The linker: one ELF64 relocatable object becomes one flat image.
 *
 * Code sections come first, then constants, each in the object's order. Unwind tables, notes and sections
 * that would not be loaded are dropped. The relocations are in relocate.c, and what depends on the processor
 * in reloc_*.c. Source: System V ABI, chapter 4.
 *
 * Every number in the object is checked before use; fields are copied out, so the object may lie at any
 * address. */
#include "runtime/image/image.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "runtime/image/format.h"
#include "runtime/image/linker.h"

#if !defined(SHT_X86_64_UNWIND) /* the C library need not name it; psABI of x86-64, 4.2 */
#define SHT_X86_64_UNWIND 0x70000001
#endif

enum { IMAGE_LIMIT = 1 << 30 };

ir_status rt_link_refuse(rt_linker *l, const char *what) {
  return ir_fail(l->error, IR_ERR_COMPILE, "linking: the object file (%zu bytes) is damaged: %s", l->size,
                 what);
}

bool rt_link_inside(uint64_t size, uint64_t offset, uint64_t length) {
  return offset <= size && length <= size - offset;
}

Elf64_Shdr rt_link_section(const rt_linker *l, uint32_t index) {
  Elf64_Shdr s;
  memcpy(&s, l->object + l->section_table + (uint64_t)index * sizeof s, sizeof s);
  return s;
}

Elf64_Sym rt_link_symbol(const rt_linker *l, uint64_t index) {
  Elf64_Sym s;
  memcpy(&s, l->object + l->symtab.sh_offset + index * sizeof s, sizeof s);
  return s;
}

const char *rt_link_string(const rt_linker *l, const Elf64_Shdr *table, uint64_t at) {
  if (at >= table->sh_size) return NULL;
  const char *text = (const char *)l->object + table->sh_offset + at;
  return memchr(text, 0, table->sh_size - at) ? text : NULL;
}

const char *rt_link_section_name(const rt_linker *l, const Elf64_Shdr *s) {
  if (l->name_section == 0) return "";
  Elf64_Shdr names = rt_link_section(l, l->name_section);
  const char *name = rt_link_string(l, &names, s->sh_name);
  return name ? name : "";
}

static bool starts_with(const char *text, const char *prefix) {
  return !strncmp(text, prefix, strlen(prefix));
}

static ir_status read_header(rt_linker *l) {
  Elf64_Ehdr head;
  if (l->size < sizeof head) return rt_link_refuse(l, "shorter than an ELF header");
  memcpy(&head, l->object, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
      head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_REL)
    return rt_link_refuse(l, "not a little-endian ELF64 relocatable object");
  l->machine = rt_machine_find(head.e_machine);
  if (!l->machine)
    return ir_fail(
        l->error, IR_ERR_UNSUPPORTED,
        "linking: objects for ELF machine %u cannot be linked; those for x86-64, AArch64 and RISC-V can",
        head.e_machine);
  if (head.e_shentsize != sizeof(Elf64_Shdr) || !rt_link_inside(l->size, head.e_shoff, sizeof(Elf64_Shdr)))
    return rt_link_refuse(l, "no section table");
  l->section_table = head.e_shoff;
  Elf64_Shdr first = rt_link_section(l, 0);
  uint64_t count = head.e_shnum ? head.e_shnum : first.sh_size;
  if (count == 0 || count > UINT32_MAX || !rt_link_inside(l->size, head.e_shoff, count * sizeof(Elf64_Shdr)))
    return rt_link_refuse(l, "the section table runs past the end");
  l->sections = (uint32_t)count;
  l->name_section = head.e_shstrndx == SHN_XINDEX ? first.sh_link : head.e_shstrndx;
  if (l->name_section >= l->sections) return rt_link_refuse(l, "the section names are in no section");
  return IR_OK;
}

/* Check that every section lies inside the file, and find the one symbol table and its names. */
static ir_status read_sections(rt_linker *l) {
  bool found = false;
  for (uint32_t i = 1; i < l->sections; i++) {
    Elf64_Shdr s = rt_link_section(l, i);
    if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS) {
      if (i == l->name_section) return rt_link_refuse(l, "the section names are in no section");
      continue;
    }
    if (!rt_link_inside(l->size, s.sh_offset, s.sh_size))
      return rt_link_refuse(l, "a section runs past the end");
    if (s.sh_type == SHT_SYMTAB_SHNDX) return rt_link_refuse(l, "too many sections");
    if (s.sh_type != SHT_SYMTAB) continue;
    if (found) return rt_link_refuse(l, "two symbol tables");
    found = true;
    if (s.sh_entsize != sizeof(Elf64_Sym) || s.sh_link == 0 || s.sh_link >= l->sections)
      return rt_link_refuse(l, "an ill-formed symbol table");
    l->symtab = s;
    l->strtab = rt_link_section(l, s.sh_link);
    if (l->strtab.sh_type != SHT_STRTAB) return rt_link_refuse(l, "the symbols have no names");
    l->symbols = s.sh_size / sizeof(Elf64_Sym);
  }
  return found ? IR_OK : rt_link_refuse(l, "no symbol table");
}

static ir_status refuse_section(rt_linker *l, const char *name, const char *why) {
  return ir_fail(l->error, IR_ERR_COMPILE,
                 "linking: section '%.200s' %s; an image holds code and constants only", name, why);
}

/* Decides whether the section goes into the image (*keep); fails if an image cannot hold it. */
static ir_status choose_section(rt_linker *l, const Elf64_Shdr *s, bool *keep) {
  const char *name = rt_link_section_name(l, s);
  *keep = false;
  if (!(s->sh_flags & SHF_ALLOC) || s->sh_type == SHT_NULL || s->sh_type == SHT_NOTE ||
      s->sh_type == SHT_X86_64_UNWIND || starts_with(name, ".eh_frame") || starts_with(name, ".note") ||
      starts_with(name, ".gcc_except_table"))
    return IR_OK;
  if (s->sh_size == 0) return IR_OK;
  if (s->sh_flags & SHF_TLS) return refuse_section(l, name, "is thread-local");
  if (s->sh_type == SHT_NOBITS) return refuse_section(l, name, "is writable memory");
  if (s->sh_type != SHT_PROGBITS) return refuse_section(l, name, "is of a kind that needs a full loader");
  if ((s->sh_flags & SHF_WRITE) && !starts_with(name, ".data.rel.ro"))
    return refuse_section(l, name, "is writable data");
  if (s->sh_flags & SHF_COMPRESSED) return refuse_section(l, name, "is compressed");
  uint64_t align = s->sh_addralign;
  if (align > RT_IMAGE_ALIGN || (align & (align - 1)))
    return ir_fail(l->error, IR_ERR_COMPILE,
                   "linking: section '%.200s' asks for alignment %" PRIu64 "; at most %d is given", name,
                   align, RT_IMAGE_ALIGN);
  *keep = true;
  return IR_OK;
}

static bool is_entry(const rt_linker *l, const Elf64_Sym *s) {
  return ELF64_ST_TYPE(s->st_info) == STT_FUNC && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
         s->st_shndx < l->sections && s->st_shndx != SHN_UNDEF;
}

/* Refuse symbols that an image cannot hold; count the entries and the bytes of their names. */
static ir_status read_symbols(rt_linker *l) {
  for (uint64_t i = 1; i < l->symbols; i++) {
    Elf64_Sym s = rt_link_symbol(l, i);
    const char *name = rt_link_string(l, &l->strtab, s.st_name);
    unsigned type = ELF64_ST_TYPE(s.st_info);
    if (!name) return rt_link_refuse(l, "a symbol's name runs past the end");
    if (s.st_shndx == SHN_UNDEF)
      return ir_fail(l->error, IR_ERR_COMPILE,
                     "linking: the code refers to '%.200s', which it does not define; an image may call "
                     "nothing outside itself",
                     name);
    if (s.st_shndx == SHN_COMMON || type == STT_GNU_IFUNC || type == STT_TLS)
      return ir_fail(l->error, IR_ERR_COMPILE, "linking: symbol '%.200s' needs a full loader (%s)", name,
                     type == STT_TLS         ? "thread-local"
                     : type == STT_GNU_IFUNC ? "indirect function"
                                             : "common");
    if (!is_entry(l, &s)) continue;
    l->entries++;
    l->name_bytes += strlen(name) + 1;
  }
  return IR_OK;
}

static ir_status refuse_size(rt_linker *l) {
  return ir_fail(l->error, IR_ERR_COMPILE, "linking: more than %d bytes of code and constants", IMAGE_LIMIT);
}

/* Assign an offset in the image to every kept section, code first. */
static ir_status lay_out(rt_linker *l) {
  uint64_t at = sizeof(rt_image_head) + (uint64_t)l->entries * sizeof(rt_image_row) + l->name_bytes;
  for (int pass = 0; pass < 2; pass++) {
    bool code = pass == 0;
    at = (at + RT_IMAGE_ALIGN - 1) & ~(uint64_t)(RT_IMAGE_ALIGN - 1);
    if (at > IMAGE_LIMIT) return refuse_size(l);
    if (code) l->code = (uint32_t)at;
    for (uint32_t i = 1; i < l->sections; i++) {
      Elf64_Shdr s = rt_link_section(l, i);
      bool keep;
      ir_status status = choose_section(l, &s, &keep);
      if (status) return status;
      if (!keep || ((s.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
      uint64_t align = s.sh_addralign ? s.sh_addralign : 1;
      at = (at + align - 1) & ~(align - 1);
      l->place[i] = (uint32_t)at;
      at += s.sh_size;
      if (at > IMAGE_LIMIT) return refuse_size(l);
    }
  }
  l->image_size = at;
  return IR_OK;
}

static void copy_sections(rt_linker *l) {
  memset(l->image, 0, l->code);
  memset(l->image + l->code, l->machine->pad, l->image_size - l->code);
  for (uint32_t i = 1; i < l->sections; i++) {
    if (l->place[i] == RT_NOT_PLACED) continue;
    Elf64_Shdr s = rt_link_section(l, i);
    memcpy(l->image + l->place[i], l->object + s.sh_offset, s.sh_size);
  }
}

static ir_status write_table(rt_linker *l) {
  rt_image_head head = {RT_IMAGE_MAGIC, l->image_size, l->entries, l->code};
  memcpy(l->image, &head, sizeof head);
  uint8_t *at = l->image + sizeof head, *name_at = at + l->entries * sizeof(rt_image_row);
  for (uint64_t i = 1; i < l->symbols; i++) {
    Elf64_Sym s = rt_link_symbol(l, i);
    if (!is_entry(l, &s)) continue;
    Elf64_Shdr home = rt_link_section(l, s.st_shndx);
    const char *name = rt_link_string(l, &l->strtab, s.st_name);
    if (l->place[s.st_shndx] == RT_NOT_PLACED || !(home.sh_flags & SHF_EXECINSTR) ||
        !rt_link_inside(home.sh_size, s.st_value, s.st_size))
      return ir_fail(l->error, IR_ERR_COMPILE, "linking: function '%.200s' lies outside its section", name);
    rt_image_row row = {(uint32_t)(name_at - l->image),
                        l->place[s.st_shndx] + (uint32_t)s.st_value,
                        (uint32_t)s.st_size,
                        l->terms.in_place,
                        l->terms.scratch,
                        l->terms.checks,
                        l->terms.uses,
                        0};
    memcpy(at, &row, sizeof row);
    at += sizeof row;
    size_t length = strlen(name) + 1;
    memcpy(name_at, name, length);
    name_at += length;
  }
  return IR_OK;
}

static ir_status link_image(rt_linker *l) {
  ir_status status = read_sections(l);
  if (!status) status = read_symbols(l);
  if (!status) status = lay_out(l);
  if (status) return status;
  l->image = ir_alloc(l->mem, l->image_size);
  if (!l->image)
    return ir_fail(l->error, IR_ERR_MEMORY, "linking: no memory for %" PRIu64 " bytes of code",
                   l->image_size);
  copy_sections(l);
  status = write_table(l);
  return status ? status : rt_link_relocate(l);
}

ir_status rt_image_link(const void *object, size_t size, rt_terms terms, const ir_mem *mem, rt_flat *out,
                        ir_error *error) {
  rt_linker l = {.object = object, .size = size, .terms = terms, .mem = mem, .error = error};
  *out = (rt_flat){NULL, 0};
  ir_status status = read_header(&l);
  if (status) return status;
  l.place = ir_alloc(mem, l.sections * sizeof *l.place);
  if (!l.place)
    return ir_fail(error, IR_ERR_MEMORY, "linking: no memory for %" PRIu32 " sections", l.sections);
  memset(l.place, 0, l.sections * sizeof *l.place);
  status = link_image(&l);
  ir_free(mem, l.place, l.sections * sizeof *l.place);
  if (!status) {
    *out = (rt_flat){l.image, l.image_size};
    return IR_OK;
  }
  if (l.image) ir_free(mem, l.image, l.image_size);
  return status;
}
