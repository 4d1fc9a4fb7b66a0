/* Relocations of AArch64. Sources: ELF for the Arm 64-bit Architecture (AAELF64), section 5.7; Arm
 * Architecture Reference Manual for A-profile, C4.1 (encodings).
 *
 * Pages: ADRP gives the page of an address, and the next instruction adds the lower 12 bits. An image begins
 * at a multiple of RT_IMAGE_ALIGN, not of a page, so pages become units of that many bytes: ADRP is made ADR
 * to where the unit begins, and the next instruction adds the place within the unit. Code may use one ADRP
 * for several addresses only where these are in one page wherever the section is, and so in one unit: no
 * section is aligned to more. */
#include <elf.h>
#include <stdbool.h>

#include "runtime/image/image.h"
#include "runtime/image/reloc.h"

typedef enum form {
  DATA, /* the difference itself, in `width` bytes */
  BRANCH26,
  BRANCH19,
  BRANCH14,
  LITERAL19, /* load from an address near by */
  ADDRESS21, /* ADR */
  PAGE21,    /* ADRP */
  GOT_PAGE,  /* ADRP of the GOT slot */
  GOT_LOAD,  /* LDR from the GOT slot, made ADD */
  LOW_ADD,
  LOW_8,
  LOW_16,
  LOW_32,
  LOW_64,
  LOW_128,
  FORMS
} form;

/* The instructions that a relocation is meant for, and their operand: `bits` bits from bit `low` on, in units
 * of 2^scale bytes. */
typedef struct encoding {
  uint32_t mask, is;
  uint8_t low, bits, scale;
} encoding;

static const encoding encodings[FORMS] = {
    [BRANCH26] = {0x7c000000, 0x14000000, 0, 26, 2},  /* B, BL */
    [BRANCH19] = {0x1c000000, 0x14000000, 5, 19, 2},  /* B.cond, CBZ, CBNZ */
    [BRANCH14] = {0x7e000000, 0x36000000, 5, 14, 2},  /* TBZ, TBNZ */
    [LITERAL19] = {0x3b000000, 0x18000000, 5, 19, 2}, /* LDR (literal) */
    [ADDRESS21] = {0x9f000000, 0x10000000, 5, 21, 0}, /* ADR: the lowest 2 bits are at bit 29 */
    [PAGE21] = {0x9f000000, 0x90000000, 5, 21, 0},    /* ADRP: as ADR, but for bit 31 */
    [GOT_PAGE] = {0x9f000000, 0x90000000, 5, 21, 0},
    [GOT_LOAD] = {0xffc00000, 0xf9400000, 10, 12, 0}, /* LDR (immediate), 64 bits */
    [LOW_ADD] = {0x7fc00000, 0x11000000, 10, 12, 0},  /* ADD (immediate) */
    [LOW_8] = {0x3b000000, 0x39000000, 10, 12, 0},    /* loads and stores with an unsigned offset */
    [LOW_16] = {0x3b000000, 0x39000000, 10, 12, 1},
    [LOW_32] = {0x3b000000, 0x39000000, 10, 12, 2},
    [LOW_64] = {0x3b000000, 0x39000000, 10, 12, 3},
    [LOW_128] = {0x3b000000, 0x39000000, 10, 12, 4},
};

#define CODE(type, form)                                                                                     \
  { type, RT_RELOC_APPLY, 4, form, #type }
#define PC(type, width)                                                                                      \
  { type, RT_RELOC_APPLY, width, DATA, #type }
#define OTHER(type, action)                                                                                  \
  { type, action, 0, DATA, #type }
static const rt_reloc relocs[] = {
    OTHER(R_AARCH64_NONE, RT_RELOC_NOTHING),
    {256, RT_RELOC_NOTHING, 0, DATA, "R_AARCH64_NULL"}, /* the older number of R_AARCH64_NONE */
    PC(R_AARCH64_PREL16, 2),
    PC(R_AARCH64_PREL32, 4),
    PC(R_AARCH64_PREL64, 8),
    CODE(R_AARCH64_CALL26, BRANCH26),
    CODE(R_AARCH64_JUMP26, BRANCH26),
    CODE(R_AARCH64_CONDBR19, BRANCH19),
    CODE(R_AARCH64_TSTBR14, BRANCH14),
    CODE(R_AARCH64_LD_PREL_LO19, LITERAL19),
    CODE(R_AARCH64_ADR_PREL_LO21, ADDRESS21),
    CODE(R_AARCH64_ADR_PREL_PG_HI21, PAGE21),
    CODE(R_AARCH64_ADR_PREL_PG_HI21_NC, PAGE21),
    CODE(R_AARCH64_ADD_ABS_LO12_NC, LOW_ADD),
    CODE(R_AARCH64_LDST8_ABS_LO12_NC, LOW_8),
    CODE(R_AARCH64_LDST16_ABS_LO12_NC, LOW_16),
    CODE(R_AARCH64_LDST32_ABS_LO12_NC, LOW_32),
    CODE(R_AARCH64_LDST64_ABS_LO12_NC, LOW_64),
    CODE(R_AARCH64_LDST128_ABS_LO12_NC, LOW_128),
    CODE(R_AARCH64_ADR_GOT_PAGE, GOT_PAGE),
    CODE(R_AARCH64_LD64_GOT_LO12_NC, GOT_LOAD),
    OTHER(R_AARCH64_ABS64, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_ABS32, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_ABS16, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G0, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G0_NC, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G1, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G1_NC, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G2, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G2_NC, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_UABS_G3, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_SABS_G0, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_SABS_G1, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_MOVW_SABS_G2, RT_RELOC_ABSOLUTE),
    OTHER(R_AARCH64_GOTREL64, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_GOTREL32, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_GOT_LD_PREL19, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_LD64_GOTOFF_LO15, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_LD64_GOTPAGE_LO15, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSGD_ADR_PREL21, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSGD_ADR_PAGE21, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSGD_ADD_LO12_NC, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSLD_ADR_PAGE21, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSLE_ADD_TPREL_HI12, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSLE_ADD_TPREL_LO12_NC, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSDESC_ADR_PAGE21, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSDESC_LD64_LO12, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSDESC_ADD_LO12, RT_RELOC_OUTSIDE),
    OTHER(R_AARCH64_TLSDESC_CALL, RT_RELOC_OUTSIDE),
};

/* Instructions and numbers are little-endian, on processors of either order. */
static uint32_t read_word(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static void write_bytes(uint8_t *at, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static bool fits(int64_t value, unsigned bits) {
  return bits >= 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

/* The operand's value: relative to the place for what reaches far, within the unit for what adds to a page.
 */
static int64_t operand(form form, const rt_place *p) {
  enum { UNIT = RT_IMAGE_ALIGN };
  if (form == PAGE21 || form == GOT_PAGE) return (int64_t)((p->to & ~(uint64_t)(UNIT - 1)) - p->at);
  if (form >= GOT_LOAD) return (int64_t)(p->to & (UNIT - 1));
  return (int64_t)(p->to - p->at);
}

static const char *apply(const rt_reloc *reloc, const rt_place *p) {
  form form = reloc->form;
  int64_t value = operand(form, p);
  if (form == DATA) {
    if (!fits(value, 8 * reloc->width)) return rt_reloc_too_far;
    write_bytes(p->field, (uint64_t)value, reloc->width);
    return NULL;
  }
  const encoding *e = &encodings[form];
  uint32_t word = read_word(p->field);
  if (p->at % 4 || (word & e->mask) != e->is || ((form == GOT_PAGE || form == GOT_LOAD) && p->addend))
    return rt_reloc_other_instruction;
  if (value & ((1 << e->scale) - 1)) return "is to an address that its instruction cannot have";
  value >>= e->scale;
  if (!fits(value, e->bits)) return rt_reloc_too_far;
  if (form == PAGE21 || form == GOT_PAGE) word &= 0x7fffffff; /* ADRP -> ADR */
  if (form == GOT_LOAD) word = 0x91000000 | (word & 0x3ff);   /* LDR -> ADD of 64 bits */
  uint32_t field = (uint32_t)value;
  if (e->bits == 21) { /* ADR: immlo, immhi */
    word = (word & ~(3u << 29)) | (field & 3) << 29;
    field >>= 2;
  }
  uint32_t keep = ((1u << (e->bits == 21 ? 19 : e->bits)) - 1) << e->low;
  write_bytes(p->field, (word & ~keep) | (field << e->low & keep), 4);
  return NULL;
}

/* 0 as a whole word is UDF, which traps. */
const rt_machine rt_machine_aarch64 = {EM_AARCH64, 0, "AArch64", relocs, sizeof relocs / sizeof *relocs,
                                       apply};
