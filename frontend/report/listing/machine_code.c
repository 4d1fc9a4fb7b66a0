/* Reads a listing for x86-64. LLVM's comments say of each block which loop it is in; a block that belongs to
 * none has no such comment. Kinds of instructions are told by their names. */
#include "frontend/report/listing/machine_code.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
  fe_machine_code *out;
  int at; /* index of the loop that the block is in; -1: none */
  bool full;
} reader;

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* The number behind `mark` in the text; -1: the mark is not there. */
static int number_behind(const char *text, const char *mark) {
  const char *found = strstr(text, mark);
  return found ? atoi(found + strlen(mark)) : -1;
}

/* loops */

static int loop_of_header(const fe_machine_code *code, int header) {
  for (int i = 0; i < code->count; i++)
    if (code->loop[i].header == header) return i;
  return -1;
}

/* The loop that begins at this block, of which a block of it may have told before. */
static int enter(reader *r, int header) {
  int at = loop_of_header(r->out, header);
  if (at >= 0 || r->full) return at;
  if ((r->full = r->out->count == FE_MOST_LOOPS)) return -1;
  r->out->loop[r->out->count] = (fe_code_loop){.header = header, .parent = -1, .trips = -1};
  return r->out->count++;
}

/* The number of the block that `BB0_3` names. */
static int block_in(const char *text, const char *before) {
  const char *found = strstr(text, before), *digits = found ? strchr(found, '_') : NULL;
  return digits ? atoi(digits + 1) : -1;
}

/* What the comments between a block's label and its first instruction say of it. */
typedef struct block_notes {
  int number, parent, depth;
  bool header, shared;
  int64_t trips;
} block_notes;

static void note_comment(reader *r, block_notes *b, const char *comment) {
  if (begins(comment, "%share_")) b->shared = true;
  if (begins(comment, "%runs_") && isdigit((unsigned char)comment[6])) b->trips = atoll(comment + 6);
  if (strstr(comment, "Parent Loop")) {
    int depth = number_behind(comment, "Depth=");
    if (depth > b->depth) b->depth = depth, b->parent = block_in(comment, "Parent Loop BB");
  }
  if (strstr(comment, "Loop Header: Depth=")) b->header = true;
  if (strstr(comment, "in Loop: Header=")) r->at = enter(r, block_in(comment, "in Loop: Header=BB"));
}

static void end_notes(reader *r, const block_notes *b) {
  int parent = b->header && b->parent >= 0 ? enter(r, b->parent) : -1,
      at = b->header ? enter(r, b->number) : -1;
  if (at < 0) return;
  fe_code_loop *loop = &r->out->loop[at];
  loop->parent = parent, loop->shared = b->shared, loop->trips = b->trips;
  r->at = at;
}

/* instructions */

static bool is_in(const char *name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (begins(name, list[i])) return true;
  return false;
}
#define IS_IN(name, list) is_in(name, list, sizeof(list) / sizeof *(list))

/* The numbers of the registers of a kind that the operands name, as a set. */
static uint32_t vector_registers(const char *operands) {
  uint32_t found = 0;
  for (const char *at = operands; (at = strstr(at, "mm")); at += 2)
    if (at > operands + 1 && at[-2] == '%' && isdigit((unsigned char)at[2]))
      found |= 1u << (atoi(at + 2) & 31);
  return found;
}

static uint32_t general_registers(const char *operands) {
  static const char *const names[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
  uint32_t found = 0;
  for (const char *at = operands; (at = strchr(at, '%')); at++) {
    const char *name = at + 1 + (at[1] == 'r' || at[1] == 'e');
    if (at[1] == 'r' && isdigit((unsigned char)at[2])) found |= 1u << (atoi(at + 2) & 31);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
      if (begins(name, names[i]) || (i < 4 && name[0] == names[i][0] && name[1] == 'l')) found |= 1u << i;
  }
  return found;
}

/* Is what the instruction writes, its last operand, in memory? */
static bool writes_memory(const char *operands) {
  size_t length = strlen(operands);
  return length > 0 && (operands[length - 1] == ')' || strstr(operands, ") {%k"));
}

static bool zeroes(const char *name, const char *operands) {
  const char *comma = strchr(operands, ',');
  size_t first = comma ? (size_t)(comma - operands) : 0;
  return (begins(name, "xor") || begins(name, "vxor") || begins(name, "vpxor")) && first &&
         !strncmp(operands, comma + 1 + (comma[1] == ' '), first);
}

static void note_instruction(reader *r, const char *name, const char *operands, const char *comment) {
  static const char *const integer[] = {"lea",  "add", "sub",  "inc",  "dec",  "imul", "mul",
                                        "idiv", "div", "sh",   "sa",   "and",  "or",   "xor",
                                        "neg",  "not", "cmp",  "test", "cmov", "set",  "bt",
                                        "adc",  "sbb", "rorx", "mulx", "bzhi", "movs", "movz"},
                           *const floats[] = {"addss", "addsd", "addps",  "addpd", "subss", "subsd",
                                              "subps", "subpd", "mulss",  "mulsd", "mulps", "mulpd",
                                              "divss", "divsd", "divps",  "divpd", "andps", "andnps",
                                              "orps",  "xorps", "cmpneq", "sqrt"},
                           *const moves[] = {"vmov",    "vbroadcast", "vpbroadcast", "vshuf",    "vpshuf",
                                             "vunpck",  "vpunpck",    "vperm",       "vextract", "vpextr",
                                             "vinsert", "vpinsr",     "vpalignr",    "valign",   "vpack",
                                             "vblend",  "vpblend",    "kmov",        "mov",      "shufps",
                                             "unpck",   "vpermt",     "vgather",     "vpgather", "vmask",
                                             "vpmask"},
                           *const none[] = {"j",        "ret",    "nop",  "vzeroupper", "call",
                                            "prefetch", "sfence", "push", "pop"};
  fe_instructions *to = r->at >= 0 ? &r->out->loop[r->at].own : &r->out->outside;
  bool memory = strchr(operands, '(') && !begins(name, "lea"),
       compares = begins(name, "cmp") || begins(name, "test"),
       vector = vector_registers(operands) != 0 || IS_IN(name, floats);
  for (int at = r->at; at >= 0; at = r->out->loop[at].parent) {
    r->out->loop[at].general |= general_registers(operands);
    r->out->loop[at].vectors |= vector_registers(operands);
  }
  if (IS_IN(name, none)) return;
  bool stores = memory && writes_memory(operands) && !compares,
       moved = IS_IN(name, moves) && (vector || name[3] != 's');
  bool both =
      stores && !moved && !begins(name, "set") && !begins(name, "vextract") && !begins(name, "vpextr");
  to->stores += stores;
  to->loads += memory && (!stores || (both && !begins(name, "vcvt") && !begins(name, "vpmov")));
  to->constants += strstr(operands, ".LCPI") != NULL;
  to->spills += strstr(comment, "Spill") != NULL || strstr(comment, "Reload") != NULL;
  if (zeroes(name, operands)) to->moves++;
  else if (!vector && IS_IN(name, integer) && !(memory && (begins(name, "movs") || begins(name, "movz"))))
    to->integer++;
  else if (moved) to->moves += !memory;
  else if (vector || begins(name, "k")) to->vector++;
}

/* lines */

static void read_instruction(reader *r, char *line) {
  enum { SPACE = ' ' };
  char *comment = strchr(line, '#'), *name = line + strspn(line, "\t "), *operands;
  if (comment) *comment++ = '\0';
  for (size_t end = strlen(line); end > 0 && isspace((unsigned char)line[end - 1]);) line[--end] = '\0';
  operands = name + strcspn(name, "\t ");
  if (*operands) *operands++ = '\0';
  note_instruction(r, name, operands + strspn(operands, "\t "), comment ? comment : "");
}

static bool is_label(const char *line) { return begins(line, ".LBB") || begins(line, "# %bb."); }

bool fe_count_code(const char *listing, fe_machine_code *out) {
  reader r = {.out = out, .at = -1};
  block_notes b = {0};
  bool open = false, code = false; /* comments of a block's label; inside of the function */
  *out = (fe_machine_code){0};
  while (*listing && !r.full) {
    char line[512];
    size_t length = strcspn(listing, "\n"), kept = length < sizeof line ? length : sizeof line - 1;
    memcpy(line, listing, kept);
    line[kept] = '\0';
    listing += length + (listing[length] == '\n');
    const char *comment = strchr(line, '#');
    if (is_label(line)) {
      b = (block_notes){.number = begins(line, "#") ? number_behind(line, "bb.") : block_in(line, ".LBB"),
                        .trips = -1,
                        .parent = -1};
      r.at = -1, open = code = true;
      if (begins(line, "#")) comment = strchr(line + 1, '#');
    } else if (line[strspn(line, "\t ")] != '#') {
      if (open) end_notes(&r, &b);
      open = false;
      if (begins(line, ".Lfunc_end")) code = false;
      if (code && line[0] == '\t' && line[1] != '.') read_instruction(&r, line);
      continue;
    }
    for (comment = comment ? comment + 1 : ""; *comment == ' '; comment++) {}
    if (open) note_comment(&r, &b, comment);
  }
  return !r.full;
}
