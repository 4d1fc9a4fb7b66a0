/* The part of linking that depends on the processor: the relocations, as tables. */
#ifndef VIEWFOLD_RUNTIME_IMAGE_RELOC_H
#define VIEWFOLD_RUNTIME_IMAGE_RELOC_H

#include <stddef.h>
#include <stdint.h>

/* How a relocation is applied. S: symbol, A: addend, P: place, all as offsets in the image. */
typedef enum rt_reloc_action {
  RT_RELOC_NOTHING,
  RT_RELOC_PC32,      /* 4 bytes: S + A - P */
  RT_RELOC_PC64,      /* 8 bytes: S + A - P */
  RT_RELOC_GOT_RELAX, /* a load, call or jump through a GOT slot: rewritten to use the address itself */
  RT_RELOC_ABSOLUTE,  /* needs the final address: refused */
  RT_RELOC_OUTSIDE    /* needs a table or thread-local storage that an image does not have: refused */
} rt_reloc_action;

typedef struct rt_reloc {
  uint32_t type;
  rt_reloc_action action;
  const char *name;
} rt_reloc;

typedef struct rt_machine {
  uint16_t number; /* ELF e_machine */
  uint8_t pad;     /* fills gaps in the code: an instruction that traps */
  const rt_reloc *relocs;
  size_t reloc_count;
} rt_machine;

/* NULL when the processor, or the relocation type, is not known. */
const rt_machine *rt_machine_find(uint16_t number);
const rt_reloc *rt_reloc_find(const rt_machine *machine, uint32_t type);

/* Bytes that a PC32, PC64 or GOT_RELAX relocation writes. */
size_t rt_reloc_width(const rt_reloc *reloc);

/* Write `value` = S + A - P at `field`, which has `before` bytes of its section in front of it. NULL on
 * success, otherwise the reason of the failure. */
const char *rt_reloc_apply(const rt_reloc *reloc, uint8_t *field, uint64_t before, int64_t addend,
                           int64_t value);

#endif
