/* The part of linking that depends on the processor: the relocations, as tables. A file for each processor.
 */
#ifndef VIEWFOLD_RUNTIME_IMAGE_RELOC_H
#define VIEWFOLD_RUNTIME_IMAGE_RELOC_H

#include <stddef.h>
#include <stdint.h>

/* How a relocation is applied. S: symbol, A: addend, P: place, all as offsets in the image. */
typedef enum rt_reloc_action {
  RT_RELOC_NOTHING,
  RT_RELOC_APPLY, /* S + A - P is known: rt_reloc_apply */
  RT_RELOC_LOW,   /* RISC-V: the lower part of what the relocation at S says, which is in the same section */
  RT_RELOC_ADD,   /* RISC-V: S + A, less that of the next relocation, which must be RT_RELOC_SUBTRACT of one
                     place */
  RT_RELOC_SUBTRACT, /* RISC-V: refused by itself */
  RT_RELOC_ABSOLUTE, /* needs the final address: refused */
  RT_RELOC_OUTSIDE   /* needs a table or thread-local storage that an image does not have: refused */
} rt_reloc_action;

typedef struct rt_reloc {
  uint32_t type;
  rt_reloc_action action;
  uint8_t width; /* bytes that it reads and writes */
  uint8_t form;  /* of what it writes: of the processor's own */
  const char *name;
} rt_reloc;

/* Where a relocation is applied. */
typedef struct rt_place {
  uint8_t *field;
  uint64_t before; /* bytes of the section in front of `field` */
  /* P and S + A. Of RT_RELOC_LOW those of the relocation that it is the lower part of; of RT_RELOC_ADD `at`
   * is what is subtracted */
  uint64_t at, to;
  int64_t addend; /* A */
  uint8_t high;   /* of RT_RELOC_LOW: the form of that relocation */
} rt_place;

typedef struct rt_machine {
  uint16_t number; /* ELF e_machine */
  uint8_t pad;     /* fills gaps in the code: an instruction that traps */
  const char *name;
  const rt_reloc *relocs;
  size_t reloc_count;
  /* NULL on success, otherwise the reason of the failure. The field has reloc->width bytes. */
  const char *(*apply)(const rt_reloc *reloc, const rt_place *place);
} rt_machine;

extern const rt_machine rt_machine_x86_64, rt_machine_aarch64, rt_machine_riscv64;

/* NULL when the processor, or the relocation type, is not known. */
const rt_machine *rt_machine_find(uint16_t number);
const rt_reloc *rt_reloc_find(const rt_machine *machine, uint32_t type);

/* What several processors say. */
extern const char rt_reloc_too_far[], rt_reloc_other_instruction[];

#endif
