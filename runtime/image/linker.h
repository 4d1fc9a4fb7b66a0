/* What the files of the linker share: one object, and the image that is made of it. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_LINKER_H
#define VIEWFOLD_RUNTIME_IMAGE_LINKER_H

#include <elf.h>

#include "runtime/image/image.h"
#include "runtime/image/reloc.h"

enum { RT_NOT_PLACED = 0 };

typedef struct rt_linker {
  const uint8_t *object;
  size_t size;
  rt_terms terms;
  const rt_machine *machine;
  const ir_mem *mem;
  ir_error *error;
  uint64_t section_table;
  uint32_t sections, name_section;
  uint32_t *place; /* offset of each section in the image, or 0: it has none (the head is there) */
  Elf64_Shdr symtab, strtab;
  uint64_t symbols;
  uint32_t entries, code;
  uint64_t name_bytes;
  uint8_t *image;
  uint64_t image_size;
} rt_linker;

/* Says that the object is damaged: IR_ERR_COMPILE. */
ir_status rt_link_refuse(rt_linker *l, const char *what);
bool rt_link_inside(uint64_t size, uint64_t offset, uint64_t length);
/* A section header or a symbol of the object, whose table has been checked. */
Elf64_Shdr rt_link_section(const rt_linker *l, uint32_t index);
Elf64_Sym rt_link_symbol(const rt_linker *l, uint64_t index);
/* A string in a string table whose range has been checked; NULL when it does not end inside the table. */
const char *rt_link_string(const rt_linker *l, const Elf64_Shdr *table, uint64_t at);
const char *rt_link_section_name(const rt_linker *l, const Elf64_Shdr *s);

/* relocate.c: applies all relocations, to the sections as they lie in the image. */
ir_status rt_link_relocate(rt_linker *l);

#endif
