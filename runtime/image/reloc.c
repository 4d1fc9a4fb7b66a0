/* Relocation tables. Source: System V ABI, AMD64 supplement: relocation types, and section B.2 on the
 * instructions that a GOTPCRELX relocation may apply to. */
#include "runtime/image/reloc.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define ROW(type, action)                                                                                    \
  { type, action, #type }
static const rt_reloc x86_64_relocs[] = {
    ROW(R_X86_64_NONE, RT_RELOC_NOTHING),        ROW(R_X86_64_PC32, RT_RELOC_PC32),
    ROW(R_X86_64_PLT32, RT_RELOC_PC32),          ROW(R_X86_64_PC64, RT_RELOC_PC64),
    ROW(R_X86_64_GOTPCRELX, RT_RELOC_GOT_RELAX), ROW(R_X86_64_REX_GOTPCRELX, RT_RELOC_GOT_RELAX),
    ROW(R_X86_64_64, RT_RELOC_ABSOLUTE),         ROW(R_X86_64_32, RT_RELOC_ABSOLUTE),
    ROW(R_X86_64_32S, RT_RELOC_ABSOLUTE),        ROW(R_X86_64_16, RT_RELOC_ABSOLUTE),
    ROW(R_X86_64_8, RT_RELOC_ABSOLUTE),          ROW(R_X86_64_GOT32, RT_RELOC_OUTSIDE),
    ROW(R_X86_64_GOTPCREL, RT_RELOC_OUTSIDE),    ROW(R_X86_64_GOTPC32, RT_RELOC_OUTSIDE),
    ROW(R_X86_64_GOTPC64, RT_RELOC_OUTSIDE),     ROW(R_X86_64_GOTPCREL64, RT_RELOC_OUTSIDE),
    ROW(R_X86_64_GOTOFF64, RT_RELOC_OUTSIDE),    ROW(R_X86_64_TLSGD, RT_RELOC_OUTSIDE),
    ROW(R_X86_64_TLSLD, RT_RELOC_OUTSIDE),       ROW(R_X86_64_TPOFF32, RT_RELOC_OUTSIDE),
    ROW(R_X86_64_DTPOFF32, RT_RELOC_OUTSIDE),    ROW(R_X86_64_GOTTPOFF, RT_RELOC_OUTSIDE),
};
#undef ROW

static const rt_machine machines[] = {
    {EM_X86_64, 0xcc, x86_64_relocs, sizeof x86_64_relocs / sizeof *x86_64_relocs},
};

const rt_machine *rt_machine_find(uint16_t number) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (machines[i].number == number) return &machines[i];
  return NULL;
}

const rt_reloc *rt_reloc_find(const rt_machine *machine, uint32_t type) {
  for (size_t i = 0; i < machine->reloc_count; i++)
    if (machine->relocs[i].type == type) return &machine->relocs[i];
  return NULL;
}

size_t rt_reloc_width(const rt_reloc *reloc) { return reloc->action == RT_RELOC_PC64 ? 8 : 4; }

/* Rewrite the instruction with its displacement at `field` to use the symbol's address directly instead of
 * its GOT slot. *shift: how many bytes the displacement has moved towards the front. False if the instruction
 * is not one of those in section B.2 that this code knows. */
static bool relax_x86_64(uint8_t *field, uint64_t before, int *shift) {
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

const char *rt_reloc_apply(const rt_reloc *reloc, uint8_t *field, uint64_t before, int64_t addend,
                           int64_t value) {
  size_t width = rt_reloc_width(reloc);
  if (width == 4 && (value < INT32_MIN || value >= INT32_MAX)) return "is out of reach";
  int shift = 0;
  if (reloc->action == RT_RELOC_GOT_RELAX && (addend != -4 || !relax_x86_64(field, before, &shift)))
    return "is on an instruction that needs a table outside the image";
  value += shift;
  memcpy(field - shift, &value, width); /* both the code and the processors that run it are little-endian */
  return NULL;
}
