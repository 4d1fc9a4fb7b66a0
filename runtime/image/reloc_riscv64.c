/* Relocations of RISC-V, as code without linker relaxation has them. Sources: RISC-V ELF psABI, chapter 8;
 * RISC-V Unprivileged ISA, chapters 2 and "C" (formats of immediates). */
#include <elf.h>
#include <stdbool.h>

#include "runtime/image/reloc.h"

typedef enum form {
  DATA,     /* a difference, in `width` bytes */
  BRANCH,   /* B */
  JUMP,     /* JAL */
  CALL,     /* AUIPC and JALR */
  UPPER,    /* AUIPC */
  GOT_SLOT, /* AUIPC of the GOT slot; the load from it is made ADDI */
  LOWER_I,  /* the lower 12 bits, in an instruction of format I */
  LOWER_S,  /* of format S */
  SHORT_BRANCH,
  SHORT_JUMP,
  FORMS
} form;

/* The instructions that a relocation is meant for, and the bits of their operand: the operand's bit `from`
 * and the `count` - 1 above it go to the instruction's bit `at` and above. */
typedef struct piece {
  uint8_t from, count, at;
} piece;
typedef struct encoding {
  uint32_t mask, is;
  uint8_t bits; /* of the operand, with its sign; its lowest bit is 0, where the pieces leave it out */
  piece pieces[9];
} encoding;

static const encoding encodings[FORMS] = {
    [BRANCH] = {0x7f, 0x63, 13, {{1, 4, 8}, {5, 6, 25}, {11, 1, 7}, {12, 1, 31}}},
    [JUMP] = {0x7f, 0x6f, 21, {{1, 10, 21}, {11, 1, 20}, {12, 8, 12}, {20, 1, 31}}},
    [UPPER] = {0x7f, 0x17, 32, {{12, 20, 12}}},
    [LOWER_I] = {0x03, 0x03, 12, {{0, 12, 20}}},
    [LOWER_S] = {0x7b, 0x23, 12, {{0, 5, 7}, {5, 7, 25}}},
    [SHORT_BRANCH] = {0xc003, 0xc001, 9, {{1, 2, 3}, {3, 2, 10}, {5, 1, 2}, {6, 2, 5}, {8, 1, 12}}},
    [SHORT_JUMP] =
        {0x6003,
         0x2001,
         12,
         {{1, 3, 3}, {4, 1, 11}, {5, 1, 2}, {6, 1, 7}, {7, 1, 6}, {8, 2, 9}, {10, 1, 8}, {11, 1, 12}}},
};

#define APPLY(type, width, form)                                                                             \
  { type, RT_RELOC_APPLY, width, form, #type }
#define LOW(type, form)                                                                                      \
  { type, RT_RELOC_LOW, 4, form, #type }
#define SUM(type, action, width)                                                                             \
  { type, action, width, DATA, #type }
#define OTHER(type, action)                                                                                  \
  { type, action, 0, DATA, #type }
#define R_32_PCREL 57 /* R_RISCV_32_PCREL */
static const rt_reloc relocs[] = {
    OTHER(R_RISCV_NONE, RT_RELOC_NOTHING),
    OTHER(R_RISCV_RELAX, RT_RELOC_NOTHING), /* permission to shorten what it stands beside */
    APPLY(R_RISCV_BRANCH, 4, BRANCH),
    APPLY(R_RISCV_JAL, 4, JUMP),
    APPLY(R_RISCV_CALL, 8, CALL),
    APPLY(R_RISCV_CALL_PLT, 8, CALL),
    APPLY(R_RISCV_PCREL_HI20, 4, UPPER),
    APPLY(R_RISCV_GOT_HI20, 4, GOT_SLOT),
    LOW(R_RISCV_PCREL_LO12_I, LOWER_I),
    LOW(R_RISCV_PCREL_LO12_S, LOWER_S),
    APPLY(R_RISCV_RVC_BRANCH, 2, SHORT_BRANCH),
    APPLY(R_RISCV_RVC_JUMP, 2, SHORT_JUMP),
    {R_32_PCREL, RT_RELOC_APPLY, 4, DATA, "R_RISCV_32_PCREL"},
    SUM(R_RISCV_ADD8, RT_RELOC_ADD, 1),
    SUM(R_RISCV_ADD16, RT_RELOC_ADD, 2),
    SUM(R_RISCV_ADD32, RT_RELOC_ADD, 4),
    SUM(R_RISCV_ADD64, RT_RELOC_ADD, 8),
    SUM(R_RISCV_SUB8, RT_RELOC_SUBTRACT, 1),
    SUM(R_RISCV_SUB16, RT_RELOC_SUBTRACT, 2),
    SUM(R_RISCV_SUB32, RT_RELOC_SUBTRACT, 4),
    SUM(R_RISCV_SUB64, RT_RELOC_SUBTRACT, 8),
    OTHER(R_RISCV_64, RT_RELOC_ABSOLUTE),
    OTHER(R_RISCV_32, RT_RELOC_ABSOLUTE),
    OTHER(R_RISCV_HI20, RT_RELOC_ABSOLUTE),
    OTHER(R_RISCV_LO12_I, RT_RELOC_ABSOLUTE),
    OTHER(R_RISCV_LO12_S, RT_RELOC_ABSOLUTE),
    OTHER(R_RISCV_TLS_GOT_HI20, RT_RELOC_OUTSIDE),
    OTHER(R_RISCV_TLS_GD_HI20, RT_RELOC_OUTSIDE),
    OTHER(R_RISCV_TPREL_HI20, RT_RELOC_OUTSIDE),
    OTHER(R_RISCV_TPREL_LO12_I, RT_RELOC_OUTSIDE),
    OTHER(R_RISCV_TPREL_LO12_S, RT_RELOC_OUTSIDE),
    OTHER(R_RISCV_TPREL_ADD, RT_RELOC_OUTSIDE),
};

static uint32_t read_bytes(const uint8_t *at, unsigned count) {
  uint32_t word = 0;
  for (unsigned i = 0; i < count; i++) word |= (uint32_t)at[i] << (8 * i);
  return word;
}
static void write_bytes(uint8_t *at, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static bool fits(int64_t value, unsigned bits) {
  return bits >= 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

static const char *write_operand(form form, uint8_t *field, unsigned width, int64_t value) {
  const encoding *e = &encodings[form];
  uint32_t word = read_bytes(field, width);
  if ((word & e->mask) != e->is) return rt_reloc_other_instruction;
  if (!fits(value, e->bits)) return rt_reloc_too_far;
  if (e->pieces[0].from == 1 && value % 2) return "is to an address that its instruction cannot have";
  for (const piece *p = e->pieces; p->count; p++) {
    uint32_t keep = (UINT32_C(1) << p->count) - 1;
    word = (word & ~(keep << p->at)) | ((uint32_t)(value >> p->from) & keep) << p->at;
  }
  write_bytes(field, word, width);
  return NULL;
}

/* AUIPC adds the upper 20 bits; the lower 12 are added with their sign, which the upper ones make up for. */
static int64_t upper(int64_t value) { return (int64_t)((uint64_t)(value + 0x800) & ~UINT64_C(0xfff)); }

/* LD from the slot -> ADDI. */
static const char *load_to_addition(uint8_t *field) {
  uint32_t word = read_bytes(field, 4);
  if ((word & 0x707f) != 0x3003) return "is on an instruction that needs a table outside the image";
  write_bytes(field, (word & ~UINT32_C(0x707f)) | 0x13, 4);
  return NULL;
}

static const char *apply(const rt_reloc *reloc, const rt_place *p) {
  int64_t value = (int64_t)(p->to - p->at);
  const char *why = NULL;
  switch ((form)reloc->form) {
  case DATA:
    if (!fits(value, 8 * reloc->width)) return rt_reloc_too_far;
    write_bytes(p->field, (uint64_t)value, reloc->width);
    return NULL;
  case UPPER:
  case GOT_SLOT: return write_operand(UPPER, p->field, 4, upper(value));
  case CALL:
    why = write_operand(UPPER, p->field, 4, upper(value));
    return why ? why : write_operand(LOWER_I, p->field + 4, 4, value - upper(value));
  case LOWER_I:
  case LOWER_S:
    if (p->high != UPPER && p->high != GOT_SLOT) return "is the lower part of something else";
    if (p->high == GOT_SLOT) why = load_to_addition(p->field);
    return why ? why : write_operand(reloc->form, p->field, 4, value - upper(value));
  default: return write_operand(reloc->form, p->field, reloc->width, value);
  }
}

/* 0 is no instruction, and traps. */
const rt_machine rt_machine_riscv64 = {EM_RISCV, 0, "RISC-V", relocs, sizeof relocs / sizeof *relocs, apply};
