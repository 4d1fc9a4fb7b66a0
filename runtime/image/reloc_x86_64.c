/* Relocations of x86-64. Source: System V ABI, AMD64 supplement: relocation types, and section B.2 on the
 * instructions that a GOTPCRELX relocation may apply to. */
#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/image/reloc.h"

/* GOT_SLOT: a load, call or jump through a GOT slot, rewritten to use the address itself. */
typedef enum form { PLAIN, GOT_SLOT } form;

#define PC(type, width)                                                                                      \
  { type, RT_RELOC_APPLY, width, PLAIN, #type }
#define SLOT(type)                                                                                           \
  { type, RT_RELOC_APPLY, 4, GOT_SLOT, #type }
#define OTHER(type, action)                                                                                  \
  { type, action, 0, PLAIN, #type }
static const rt_reloc relocs[] = {
    OTHER(R_X86_64_NONE, RT_RELOC_NOTHING),
    PC(R_X86_64_PC32, 4),
    PC(R_X86_64_PLT32, 4),
    PC(R_X86_64_PC64, 8),
    SLOT(R_X86_64_GOTPCRELX),
    SLOT(R_X86_64_REX_GOTPCRELX),
    OTHER(R_X86_64_64, RT_RELOC_ABSOLUTE),
    OTHER(R_X86_64_32, RT_RELOC_ABSOLUTE),
    OTHER(R_X86_64_32S, RT_RELOC_ABSOLUTE),
    OTHER(R_X86_64_16, RT_RELOC_ABSOLUTE),
    OTHER(R_X86_64_8, RT_RELOC_ABSOLUTE),
    OTHER(R_X86_64_GOT32, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTPCREL, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTPC32, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTPC64, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTPCREL64, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTOFF64, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_TLSGD, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_TLSLD, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_TPOFF32, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_DTPOFF32, RT_RELOC_OUTSIDE),
    OTHER(R_X86_64_GOTTPOFF, RT_RELOC_OUTSIDE),
};

/* Rewrite the instruction with its displacement at `field` to use the symbol's address directly instead of
 * its GOT slot. *shift: how many bytes the displacement has moved towards the front. False if the instruction
 * is not one of those in section B.2 that this code knows. */
static bool relax(uint8_t *field, uint64_t before, int *shift) {
  if (before < 2) return false;
  if (field[-2] == 0x8b && (field[-1] & 0xc7) == 0x05) { /* mov slot(%rip), reg -> lea S(%rip), reg */
    field[-2] = 0x8d;
    return true;
  }
  if (field[-2] == 0xff && field[-1] == 0x15) { /* call *slot(%rip) -> addr32 call S */
    field[-2] = 0x67;
    field[-1] = 0xe8;
    return true;
  }
  if (field[-2] == 0xff && field[-1] == 0x25) { /* jmp *slot(%rip) -> jmp S; nop */
    field[-2] = 0xe9;
    field[3] = 0x90;
    *shift = 1;
    return true;
  }
  return false;
}

static const char *apply(const rt_reloc *reloc, const rt_place *p) {
  int64_t value = (int64_t)(p->to - p->at);
  if (reloc->width == 4 && (value < INT32_MIN || value >= INT32_MAX)) return rt_reloc_too_far;
  int shift = 0;
  if (reloc->form == GOT_SLOT && (p->addend != -4 || !relax(p->field, p->before, &shift)))
    return "is on an instruction that needs a table outside the image";
  value += shift;
  memcpy(p->field - shift, &value,
         reloc->width); /* both the code and the processors that run it are little-endian */
  return NULL;
}

const rt_machine rt_machine_x86_64 = {EM_X86_64, 0xcc, "x86-64", relocs, sizeof relocs / sizeof *relocs,
                                      apply};
