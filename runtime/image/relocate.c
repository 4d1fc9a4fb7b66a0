/* The linker: every relocation of the sections that an image has is applied, or refused with a reason. */
#include <string.h>

#include "runtime/image/linker.h"

static const char *symbol_name(const rt_linker *l, const Elf64_Sym *s) {
  if (ELF64_ST_TYPE(s->st_info) == STT_SECTION && s->st_shndx < l->sections) {
    Elf64_Shdr home = rt_link_section(l, s->st_shndx);
    return rt_link_section_name(l, &home);
  }
  const char *name = rt_link_string(l, &l->strtab, s->st_name);
  return name ? name : "";
}

static ir_status refuse_reloc(rt_linker *l, const char *kind, const char *name, const char *why) {
  return ir_fail(l->error, IR_ERR_COMPILE,
                 "linking: relocation %s against '%.200s' %s; code must be position-independent", kind, name,
                 why);
}

/* The relocations of section `target`, whose header is `home`. */
typedef struct relocations {
  uint32_t target;
  Elf64_Shdr home;
  const uint8_t *rows;
  uint64_t count;
} relocations;

static Elf64_Rela relocation(const relocations *of, uint64_t index) {
  Elf64_Rela r;
  memcpy(&r, of->rows + index * sizeof r, sizeof r);
  return r;
}

/* One of them, looked up: what it is, and what it says of which place. */
typedef struct found_reloc {
  const rt_reloc *kind;
  const char *name; /* of the symbol */
  Elf64_Sym symbol;
  rt_place place;
} found_reloc;

static ir_status find_relocation(rt_linker *l, const relocations *of, uint64_t k, found_reloc *out) {
  Elf64_Rela r = relocation(of, k);
  uint64_t index = ELF64_R_SYM(r.r_info);
  if (index >= l->symbols) return rt_link_refuse(l, "a relocation names no symbol");
  Elf64_Sym s = out->symbol = rt_link_symbol(l, index);
  const char *name = out->name = symbol_name(l, &s);
  const rt_reloc *kind = out->kind = rt_reloc_find(l->machine, ELF64_R_TYPE(r.r_info));
  if (!kind)
    return ir_fail(l->error, IR_ERR_COMPILE, "linking: relocation type %u against '%.200s' is not known",
                   (unsigned)ELF64_R_TYPE(r.r_info), name);
  if (kind->action == RT_RELOC_NOTHING) return IR_OK;
  if (kind->action == RT_RELOC_ABSOLUTE)
    return refuse_reloc(l, kind->name, name, "needs an absolute address");
  if (kind->action == RT_RELOC_OUTSIDE)
    return refuse_reloc(l, kind->name, name, "needs a table outside the image");
  if (!rt_link_inside(of->home.sh_size, r.r_offset, kind->width))
    return rt_link_refuse(l, "a relocation lies outside its section");
  if (s.st_shndx >= l->sections || l->place[s.st_shndx] == RT_NOT_PLACED)
    return refuse_reloc(l, kind->name, name, "refers to something that is not part of the image");
  Elf64_Shdr there = rt_link_section(l, s.st_shndx);
  if (s.st_value > there.sh_size) return rt_link_refuse(l, "a symbol lies outside its section");
  uint64_t at = l->place[of->target] + r.r_offset;
  out->place = (rt_place){.field = l->image + at,
                          .before = r.r_offset,
                          .at = at,
                          .to = l->place[s.st_shndx] + s.st_value + (uint64_t)r.r_addend,
                          .addend = r.r_addend};
  return IR_OK;
}

/* Relocation k is the lower part of another one of its section: takes over what that says. The other one lies
 * mostly just before. */
static ir_status find_upper_part(rt_linker *l, const relocations *of, uint64_t k, found_reloc *lower) {
  for (uint64_t n = 0; lower->symbol.st_shndx == of->target && n < of->count; n++) {
    uint64_t other = k >= n ? k - n : n;
    if (other == k || relocation(of, other).r_offset != lower->symbol.st_value) continue;
    found_reloc upper;
    ir_status status = find_relocation(l, of, other, &upper);
    if (status) return status;
    if (upper.kind->action != RT_RELOC_APPLY) continue;
    lower->place.at = upper.place.at;
    lower->place.to = upper.place.to;
    lower->place.high = upper.kind->form;
    return IR_OK;
  }
  return refuse_reloc(l, lower->kind->name, lower->name, "is the lower part of nothing");
}

/* Relocation k adds an address, and the next one has to subtract another from it. */
static ir_status find_subtrahend(rt_linker *l, const relocations *of, uint64_t k, found_reloc *sum) {
  found_reloc next = {0};
  ir_status status = k + 1 < of->count ? find_relocation(l, of, k + 1, &next) : IR_OK;
  if (status) return status;
  if (!next.kind || next.kind->action != RT_RELOC_SUBTRACT || next.kind->width != sum->kind->width ||
      next.place.field != sum->place.field)
    return refuse_reloc(l, sum->kind->name, sum->name, "adds an address from which none is subtracted");
  sum->place.at = next.place.to;
  return IR_OK;
}

/* Applies relocation *k, and moves to the last one that this has dealt with. */
static ir_status apply_relocation(rt_linker *l, const relocations *of, uint64_t *k) {
  found_reloc found;
  ir_status status = find_relocation(l, of, *k, &found);
  if (status || found.kind->action == RT_RELOC_NOTHING) return status;
  if (found.kind->action == RT_RELOC_SUBTRACT)
    return refuse_reloc(l, found.kind->name, found.name, "subtracts from nothing");
  if (found.kind->action == RT_RELOC_LOW) status = find_upper_part(l, of, *k, &found);
  if (found.kind->action == RT_RELOC_ADD) status = find_subtrahend(l, of, (*k)++, &found);
  if (status) return status;
  const char *why = l->machine->apply(found.kind, &found.place);
  return why ? refuse_reloc(l, found.kind->name, found.name, why) : IR_OK;
}

ir_status rt_link_relocate(rt_linker *l) {
  for (uint32_t i = 1; i < l->sections; i++) {
    Elf64_Shdr s = rt_link_section(l, i);
    if (s.sh_type != SHT_RELA && s.sh_type != SHT_REL) continue;
    if (s.sh_info >= l->sections || l->place[s.sh_info] == RT_NOT_PLACED) continue;
    if (s.sh_type == SHT_REL || s.sh_entsize != sizeof(Elf64_Rela))
      return rt_link_refuse(l, "relocations without addends");
    relocations of = {s.sh_info, rt_link_section(l, s.sh_info), l->object + s.sh_offset,
                      s.sh_size / sizeof(Elf64_Rela)};
    for (uint64_t k = 0; k < of.count; k++) {
      ir_status status = apply_relocation(l, &of, &k);
      if (status) return status;
    }
  }
  return IR_OK;
}
