/* The processors whose objects are linked. */
#include "runtime/image/reloc.h"

const char rt_reloc_too_far[] = "is out of reach";
const char rt_reloc_other_instruction[] = "is on an instruction that it is not meant for";

const rt_machine *rt_machine_find(uint16_t number) {
  static const rt_machine *const machines[] = {&rt_machine_x86_64, &rt_machine_aarch64, &rt_machine_riscv64};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (machines[i]->number == number) return machines[i];
  return NULL;
}

const rt_reloc *rt_reloc_find(const rt_machine *machine, uint32_t type) {
  for (size_t i = 0; i < machine->reloc_count; i++)
    if (machine->relocs[i].type == type) return &machine->relocs[i];
  return NULL;
}
