/* Targets as text, one row of a table for each field: written, overridden by settings, compared with a
 * processor. */
#include <stdio.h>
#include <string.h>

#include "runtime/cpu/processors.h"
#include "runtime/cpu/target.h"

enum { FIELD_TEXT, FIELD_INT, FIELD_BOOL, FIELD_BYTES, FIELD_LANES, FIELD_MATRIX, FIELD_LOCAL };
/* How a field of a description relates to the same field of a processor that can run the code: */
enum {
  RUNS_ANY,     /* not at all */
  RUNS_SAME,    /* they are equal */
  RUNS_AT_MOST, /* the processor has as much, or more */
  RUNS_SUBSET   /* the processor has all features of the list, and others */
};
typedef struct field {
  const char *name;
  int kind, runs;
  bool measured; /* what was measured on a machine may set it: nothing that results depend on */
  size_t offset, size;
  const char *accepted; /* for messages */
} field;
#define FIELD(name, kind, runs, measured, member, accepted)                                                  \
  { name, kind, runs, measured, offsetof(ir_target, member), sizeof(((ir_target *)0)->member), accepted }
static const field fields[] = {
    FIELD("triple", FIELD_TEXT, RUNS_SAME, false, triple, "1 to 63 characters"),
    FIELD("features", FIELD_TEXT, RUNS_SUBSET, false, features, "at most 1023 characters"),
    FIELD("vector_bytes", FIELD_INT, RUNS_AT_MOST, false, vector_bytes, "16, 32 or 64"),
    FIELD("registers", FIELD_INT, RUNS_AT_MOST, false, registers, "16 or 32"),
    FIELD("fma", FIELD_BOOL, RUNS_AT_MOST, false, has_fma, "0 or 1"),
    FIELD("f16c", FIELD_BOOL, RUNS_AT_MOST, false, has_f16c, "0 or 1"),
    FIELD("masks", FIELD_BOOL, RUNS_AT_MOST, false, has_masks, "0 or 1"),
    FIELD("dot2", FIELD_BOOL, RUNS_AT_MOST, false, has_dot2, "0 or 1"),
    FIELD("fma2", FIELD_BOOL, RUNS_AT_MOST, false, has_fma2, "0 or 1"),
    FIELD("dot4", FIELD_BOOL, RUNS_AT_MOST, false, has_dot4, "0 or 1"),
    FIELD("soft_f64", FIELD_BOOL, RUNS_ANY, false, soft_f64, "0 or 1"),
    FIELD("soft_division", FIELD_BOOL, RUNS_ANY, false, soft_division, "0 or 1"),
    FIELD("l1", FIELD_BYTES, RUNS_ANY, false, l1_bytes, "a power of two"),
    FIELD("l2", FIELD_BYTES, RUNS_ANY, false, l2_bytes, "a power of two"),
    FIELD("l3", FIELD_BYTES, RUNS_ANY, true, l3_bytes, "a power of two"),
    FIELD("read_past", FIELD_BOOL, RUNS_ANY, true, reads_past, "0 or 1"),
    FIELD("read_ahead", FIELD_BOOL, RUNS_ANY, true, reads_ahead, "0 or 1"),
    FIELD("gather", FIELD_BOOL, RUNS_ANY, true, gathers, "0 or 1"),
    FIELD("lanes", FIELD_LANES, RUNS_SAME, false, group_items, "0 or a power of two up to 1024"),
    FIELD("together", FIELD_LANES, RUNS_SAME, false, together, "0 or a power of two up to 1024"),
    FIELD("matrix", FIELD_MATRIX, RUNS_SAME, false, matrix, "0 or 16"),
    FIELD("local", FIELD_LOCAL, RUNS_ANY, false, local_bytes, "0 or a power of two"),
    FIELD("arguments", FIELD_LOCAL, RUNS_ANY, false, argument_bytes, "0 or a power of two"),
    FIELD("hoist", FIELD_BOOL, RUNS_ANY, false, hoists, "0 or 1"),
    FIELD("sort", FIELD_BOOL, RUNS_ANY, false, sorts, "0 or 1"),
    FIELD("quick", FIELD_BOOL, RUNS_ANY, false, quick, "0 or 1"),
    FIELD("parts", FIELD_LOCAL, RUNS_ANY, false, batch_stream_threshold, "0 or a power of two"),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static void put_field(const ir_target *target, const field *f, ir_text *text) {
  const void *at = (const char *)target + f->offset;
  ir_textf(text, "%s=", f->name);
  switch (f->kind) {
  case FIELD_TEXT: ir_text_str(text, at); break;
  case FIELD_LANES:
  case FIELD_MATRIX:
  case FIELD_INT: ir_textf(text, "%d", *(const int *)at); break;
  case FIELD_BOOL: ir_textf(text, "%d", *(const bool *)at); break;
  default: ir_textf(text, "%lld", (long long)*(const int64_t *)at); break;
  }
}

void rt_target_text(const ir_target *target, ir_text *text) {
  for (int i = 0; i < FIELD_COUNT; i++) {
    if (i) ir_text_str(text, " ");
    put_field(target, &fields[i], text);
  }
}

static bool set_field(ir_target *target, const field *f, const char *value, size_t length) {
  char *at = (char *)target + f->offset;
  if (f->kind == FIELD_TEXT) {
    if (length >= f->size || (length == 0 && f->offset == offsetof(ir_target, triple))) return false;
    memset(at, 0, f->size);
    memcpy(at, value, length);
    if (f->offset == offsetof(ir_target, features)) { /* of other features, what the text does not say */
      target->has_dot4 = strstr(at, "+avx512vnni") || strstr(at, "+avxvnni");
      target->has_fma2 = strstr(at, "+avx512bf16") != NULL;
    }
    return true;
  }
  int64_t number = 0;
  if (length == 0 || length > 18) return false;
  for (size_t i = 0; i < length; i++) {
    if (value[i] < '0' || value[i] > '9') return false;
    number = number * 10 + (value[i] - '0');
  }
  bool power = number > 0 && (number & (number - 1)) == 0;
  if (f->kind == FIELD_BOOL) {
    if (number > 1) return false;
    *(bool *)at = number;
  } else if (f->kind == FIELD_LANES) {
    if ((number && !power) || number > 1024) return false;
    *(int *)(void *)at = (int)number;
  } else if (f->kind == FIELD_MATRIX) {
    if (number != 0 && number != 16) return false;
    *(int *)(void *)at = (int)number;
  } else if (f->kind == FIELD_BYTES || f->kind == FIELD_LOCAL) {
    if (!power && !(f->kind == FIELD_LOCAL && number == 0)) return false;
    *(int64_t *)(void *)at = number;
  } else {
    bool registers = f->offset == offsetof(ir_target, registers);
    if (!power || number < 16 || number > (registers ? 32 : 64)) return false;
    *(int *)(void *)at = (int)number;
  }
  return true;
}

/* Not a setting, and no processor's name. */
static ir_status refuse_word(const char *at, size_t length, ir_error *error) {
  const char *meant = rt_processor_meant(at, length);
  if (meant)
    return ir_fail(error, IR_ERR_INVALID, "target: '%.*s' is no processor; did you mean %s?",
                   (int)(length < 80 ? length : 80), at, meant);
  ir_text names;
  ir_text_init(&names, &ir_mem_libc);
  rt_processor_names(&names);
  ir_status status = ir_fail(
      error, IR_ERR_INVALID,
      "target: '%.*s' is not a setting; use name=value with a name among triple, features, vector_bytes, "
      "registers, fma, f16c, masks, dot2, fma2, dot4, l1, l2, l3, read_past, read_ahead, gather, lanes, "
      "together, "
      "matrix, local, arguments, sort, quick, parts; or first a processor: native, %s",
      (int)(length < 80 ? length : 80), at, ir_text_get(&names));
  ir_text_free(&names);
  return status;
}

/* A processor's name takes the place of the whole description; `native` is the one that there is. */
static bool set_processor(ir_target *target, const char *word, size_t length) {
  return (length == 6 && !memcmp(word, "native", 6)) || rt_processor_find(word, length, target);
}

/* measured_only: other settings are refused as unknown ones are. */
static ir_status override(ir_target *target, const char *settings, bool measured_only, ir_error *error) {
  ir_target made = *target;
  for (const char *at = settings; *(at += strspn(at, " \t\n"));) {
    size_t length = strcspn(at, " \t\n"), name = strcspn(at, "= \t\n"), row = 0;
    while (row < FIELD_COUNT && !(strlen(fields[row].name) == name && !memcmp(fields[row].name, at, name)))
      row++;
    if (name == length && !measured_only && set_processor(&made, at, length)) {
      at += length;
      continue;
    }
    if (row == FIELD_COUNT || name == length || (measured_only && !fields[row].measured))
      return refuse_word(at, length, error);
    ir_target before = made;
    if (!set_field(&made, &fields[row], at + name + 1, length - name - 1))
      return ir_fail(error, IR_ERR_INVALID, "target: '%.*s': %s must be %s", (int)(length < 80 ? length : 80),
                     at, fields[row].name, fields[row].accepted);
    if (rt_is_other_architecture(made.triple, before.triple)) {
      memcpy(before.triple, made.triple, sizeof before.triple);
      rt_processor_of_triple(before.triple, &made); /* nothing else of the other one holds */
    }
    at += length;
  }
  *target = made;
  return IR_OK;
}

ir_status rt_target_override(ir_target *target, const char *settings, ir_error *error) {
  return override(target, settings, false, error);
}

ir_status rt_target_set_measured(ir_target *target, const char *settings, ir_error *error) {
  return override(target, settings, true, error);
}

void rt_target_measured_text(const ir_target *target, ir_text *text) {
  bool first = true;
  for (int i = 0; i < FIELD_COUNT; i++) {
    if (!fields[i].measured) continue;
    if (!first) ir_text_str(text, " ");
    put_field(target, &fields[i], text);
    first = false;
  }
}

/* The first feature of a list "+a,+b" that another list lacks; *length 0: there is none. */
static const char *missing_feature(const char *wanted, const char *present, size_t *length) {
  for (const char *at = wanted; *at; at += *length, at += *at == ',') {
    *length = strcspn(at, ",");
    const char *found = present;
    while (*found && !(strcspn(found, ",") == *length && memcmp(found, at, *length) == 0)) {
      found += strcspn(found, ",");
      found += *found == ',';
    }
    if (*length && *at != '-' && !*found) return at;
  }
  *length = 0;
  return "";
}

static int64_t number_in(const ir_target *target, const field *f) {
  const void *at = (const char *)target + f->offset;
  return f->kind == FIELD_BOOL    ? *(const bool *)at
         : f->size == sizeof(int) ? *(const int *)at
                                  : *(const int64_t *)at;
}

ir_status rt_target_runs_on(const ir_target *made_for, const ir_target *processor, ir_error *error) {
  for (int i = 0; i < FIELD_COUNT; i++) {
    const field *f = &fields[i];
    const char *wanted = (const char *)made_for + f->offset, *present = (const char *)processor + f->offset;
    size_t length;
    if (f->runs == RUNS_ANY) continue;
    if (f->runs == RUNS_SUBSET) {
      const char *lacks = missing_feature(wanted, present, &length);
      if (length)
        return ir_fail(
            error, IR_ERR_UNSUPPORTED,
            "target: this processor cannot run code for '%.*s' of features=; leave it out, or look at "
            "the code by `viewfold dump`",
            (int)(length < 40 ? length : 40), lacks);
    } else if (f->kind == FIELD_TEXT) {
      if (strcmp(wanted, present) != 0)
        return ir_fail(error, IR_ERR_UNSUPPORTED,
                       "target: this processor cannot run code for %s=%s; it is %s", f->name, wanted,
                       present);
    } else {
      int64_t a = number_in(made_for, f), b = number_in(processor, f);
      if (f->runs == RUNS_SAME ? a != b : a > b)
        return ir_fail(error, IR_ERR_UNSUPPORTED,
                       "target: this processor cannot run code for %s=%lld; it takes %s%lld", f->name,
                       (long long)a, f->runs == RUNS_SAME ? "" : "at most ", (long long)b);
    }
  }
  return IR_OK;
}
