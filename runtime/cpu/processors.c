/* Processors by name. */
#include "runtime/cpu/processors.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { BATCH_STREAM_BYTES = 2 << 20 };

typedef struct processor {
  const char *name, *triple, *features;
  int vector_bytes, registers;
  bool fma, f16c, masks, dot2;
  int64_t l1, l2, l3;
  const char *says;
} processor;

static const processor processors[] = {
#define PROCESSOR(name, triple, features, vector_bytes, registers, fma, f16c, masks, dot2, l1, l2, l3, says) \
  {name, triple, features, vector_bytes, registers, fma, f16c, masks, dot2, l1, l2, l3, says},
#include "runtime/cpu/processors.def"
#undef PROCESSOR
};
enum { PROCESSORS = sizeof processors / sizeof *processors };

static void describe(const processor *p, ir_target *out) {
  *out = (ir_target){.vector_bytes = p->vector_bytes,
                     .registers = p->registers,
                     .has_fma = p->fma,
                     .has_f16c = p->f16c,
                     .has_masks = p->masks,
                     .has_dot2 = p->dot2,
                     .hoists = true,
                     .sorts = true,
                     .l1_bytes = p->l1,
                     .l2_bytes = p->l2,
                     .l3_bytes = p->l3,
                     .batch_stream_threshold = BATCH_STREAM_BYTES};
  snprintf(out->triple, sizeof out->triple, "%s", p->triple);
  snprintf(out->features, sizeof out->features, "%s", p->features);
}

bool rt_processor_find(const char *name, size_t length, ir_target *out) {
  for (int i = 0; i < PROCESSORS; i++) {
    const processor *p = &processors[i];
    if (strlen(p->name) != length || memcmp(p->name, name, length)) continue;
    describe(p, out);
    return true;
  }
  return false;
}

static size_t next_letter(const char *name, size_t length, size_t at) {
  while (at < length && !isalnum((unsigned char)name[at])) at++;
  return at;
}

const char *rt_processor_meant(const char *name, size_t length) {
  for (int i = 0; i < PROCESSORS; i++) {
    const char *own = processors[i].name;
    size_t own_length = strlen(own), a = next_letter(name, length, 0), b = next_letter(own, own_length, 0);
    while (a < length && b < own_length &&
           tolower((unsigned char)name[a]) == tolower((unsigned char)own[b])) {
      a = next_letter(name, length, a + 1);
      b = next_letter(own, own_length, b + 1);
    }
    if (a == length && b == own_length) return own;
  }
  return NULL;
}

/* Architectures that begin alike and are others. */
static bool is_same_architecture(const char *a, const char *b) {
  size_t length = strcspn(a, "-");
  return length == strcspn(b, "-") && !memcmp(a, b, length);
}

void rt_processor_of_triple(const char *triple, ir_target *out) {
  static const processor unknown = {"",    "",    "",       16,        16,      false, false,
                                    false, false, 32 << 10, 256 << 10, 2 << 20, ""};
  const processor *found = &unknown;
  for (int i = PROCESSORS; i-- > 0;)
    if (is_same_architecture(processors[i].triple, triple)) found = &processors[i];
  describe(found, out);
  snprintf(out->triple, sizeof out->triple, "%s", triple);
}

bool rt_is_other_architecture(const char *triple, const char *other) {
  return !is_same_architecture(triple, other);
}

void rt_processors_text(ir_text *out) {
  for (int i = 0; i < PROCESSORS; i++) ir_textf(out, "  %-12s %s\n", processors[i].name, processors[i].says);
}

void rt_processor_names(ir_text *out) {
  for (int i = 0; i < PROCESSORS; i++) ir_textf(out, "%s%s", i ? ", " : "", processors[i].name);
}
