/* The steps of a program as C. Loops do not copy the values that an iteration computes; they change the
 * addresses of buffers, which are variables moving0, moving1, ... */
#include "codegen/c/program.h"

#include <stdio.h>

typedef struct address {
  char text[96];
} address;

static const cg_buffer *buffer_of(const cc_runner *r, const cg_step *s, uint32_t i) {
  return &r->p->buffers[s->buffers + i];
}

static address address_of(const cc_runner *r, const cg_buffer *buffer) {
  address a;
  unsigned number = buffer->number;
  switch (buffer->where) {
  case CG_ARRAY: snprintf(a.text, sizeof a.text, "vf_array(arrays, %u)", number); return a;
  case CG_ARENA: snprintf(a.text, sizeof a.text, "arena + %s", cc_size_of(r, number).text); return a;
  case CG_WEIGHT: snprintf(a.text, sizeof a.text, "(u8 *)weights + %s", cc_size_of(r, number).text); return a;
  case CG_DATA:
    r->reads_data[number] = true;
    snprintf(a.text, sizeof a.text, "(u8 *)data%u", number);
    return a;
  case CG_MOVING: break;
  }
  snprintf(a.text, sizeof a.text, "moving%u", number);
  return a;
}

static void put_copy(cc_runner *r, const cg_buffer *to, const cg_buffer *from) {
  cc_say(r, "vf_copy(%s, %s, %s)", address_of(r, to).text, address_of(r, from).text,
         cc_size_of(r, to->bytes).text);
}

/* kernels */

/* Is the loop more than one part for some sizes, and are there threads for them? */
static bool may_share(const cc_runner *r, const cg_step *s) {
  const cc_size *grain = &r->sizes[s->grain], *count = &r->sizes[s->count];
  return r->p->shares && (!grain->known || !count->known || grain->number < count->number);
}

static void put_call_of_kernel(cc_runner *r, const cg_step *s) {
  const cg_blob *terms = &r->terms[s->kernel];
  ir_text list, variables;
  ir_text_init(&list, r->file->mem);
  ir_text_init(&variables, r->file->mem);
  for (uint32_t i = 0; i < s->buffer_count; i++)
    ir_textf(&list, "%s%s", i ? ", " : "", address_of(r, buffer_of(r, s, i)).text);
  if (terms->checks) ir_textf(&list, "%s&status", s->buffer_count ? ", " : "");
  else if (!s->buffer_count) ir_text_str(&list, "NULL");
  for (uint32_t i = 0; i < s->variable_count; i++)
    ir_textf(&variables, "%ssizes[%u]", i ? ", " : "", r->p->step_variables[s->variables + i]);
  cc_say(r, "void *buffers[] = {%s}", ir_text_get(&list));
  if (s->variable_count) cc_say(r, "i64 variables[] = {%s}", ir_text_get(&variables));
  const char *given = s->variable_count ? "variables" : "NULL", *symbol = r->p->kernels[s->kernel].symbol;
  char scratch[48] = "NULL";
  if (terms->scratch) snprintf(scratch, sizeof scratch, "arena + %s", cc_size_of(r, r->p->scratch).text);
  if (may_share(r, s))
    cc_say(r, "vf_share(host, %s, buffers, %s, %s, %s, %s)", symbol, given, scratch,
           cc_size_of(r, s->count).text, cc_size_of(r, s->grain).text);
  else cc_say(r, "%s(buffers, %s, 0, %s, %s)", symbol, given, cc_size_of(r, s->count).text, scratch);
  if (terms->checks) cc_say(r, "if (status) return %d", IR_ERR_RANGE);
  if (list.failed || variables.failed) r->out->failed = true;
  ir_text_free(&list);
  ir_text_free(&variables);
}

/* A kernel of no iterations is not called. */
static void put_kernel(cc_runner *r, const cg_step *s) {
  const cc_size *count = &r->sizes[s->count];
  if (count->known && count->number <= 0) return;
  if (count->known) cc_begin(r, "{");
  else cc_begin(r, "if (%s > 0) {", cc_size_of(r, s->count).text);
  put_call_of_kernel(r, s);
  cc_end(r, "}");
}

/* control flow; the order of slots is that of ir_step_kind */

enum { INIT, THIS, NEXT, RESULT, SPARE, CARRY }; /* the buffers of a carried value, and how many there are */
enum { WHOLE, SLICE, SLICED };                   /* the same of an array that is sliced */

static void put_range(cc_runner *r, const cg_step *begin, const cg_step *end);

static void put_first(cc_runner *r, const cg_step *s) { put_range(r, s + 1, s + 1 + s->inside[0]); }
static void put_second(cc_runner *r, const cg_step *s) {
  const cg_step *first = s + 1 + s->inside[0];
  put_range(r, first, first + s->inside[1]);
}

static void put_cond(cc_runner *r, const cg_step *s) {
  cc_begin(r, "if (*(%s)) {", address_of(r, buffer_of(r, s, 0)).text);
  put_first(r, s);
  cc_end(r, "} else {");
  r->depth++;
  put_second(r, s);
  cc_end(r, "}");
}

static bool is_same(const cg_buffer *a, const cg_buffer *b) {
  return a->where == b->where && a->number == b->number;
}

/* Of the buffers of a carried value, the one that the next iteration writes: the spare one where `spare`
 * holds. */
static void aim_next(cc_runner *r, const cg_buffer *carry, const char *spare) {
  cc_say(r, "moving%u = %s ? %s : %s", carry[NEXT].number, spare, address_of(r, &carry[SPARE]).text,
         address_of(r, &carry[RESULT]).text);
}

/* Before the first iteration. A value whose two buffers are one is changed in it. */
static void begin_carries(cc_runner *r, const cg_buffer *carry, uint32_t count, const char *spare) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY) {
    bool moves = is_same(&carry[SPARE], &carry[RESULT]) && !is_same(&carry[INIT], &carry[RESULT]);
    const address init = address_of(r, &carry[INIT]), result = address_of(r, &carry[RESULT]);
    if (moves) cc_say(r, "vf_copy(%s, %s, %s)", result.text, init.text, cc_size_of(r, carry->bytes).text);
    cc_say(r, "moving%u = %s", carry[THIS].number, moves ? result.text : init.text);
    aim_next(r, carry, spare);
  }
}

/* After an iteration: the next one reads what this one wrote. */
static void rotate_carries(cc_runner *r, const cg_buffer *carry, uint32_t count, const char *spare) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY) {
    cc_say(r, "moving%u = %s", carry[THIS].number, address_of(r, &carry[NEXT]).text);
    aim_next(r, carry, spare);
  }
}

/* After the last iteration: copies each final value to its result, unless it is there already. */
static void end_carries(cc_runner *r, const cg_buffer *carry, uint32_t count) {
  for (uint32_t k = 0; k < count; k++, carry += CARRY)
    cc_say(r, "vf_copy(%s, %s, %s)", address_of(r, &carry[RESULT]).text, address_of(r, &carry[THIS]).text,
           cc_size_of(r, carry->bytes).text);
}

static void put_while(cc_runner *r, const cg_step *s) {
  const cg_buffer *carry = buffer_of(r, s, 1);
  uint32_t loop = r->loops++;
  char spare[32];
  cc_size_text count = cc_size_of(r, s->count);
  const cc_size *limit = &r->sizes[s->count];
  begin_carries(r, carry, s->carries, "false");
  if (limit->known && limit->number < 0) cc_begin(r, "for (i64 i%u = 0;; i%u++) {", loop, loop);
  else
    cc_begin(r, "for (i64 i%u = 0; %s < 0 || i%u < %s; i%u++) {", loop, count.text, loop, count.text, loop);
  put_first(r, s);
  cc_say(r, "if (!*(%s)) break", address_of(r, buffer_of(r, s, 0)).text);
  put_second(r, s);
  snprintf(spare, sizeof spare, "i%u %% 2 == 0", loop);
  rotate_carries(r, carry, s->carries, spare);
  cc_end(r, "}");
  end_carries(r, carry, s->carries);
}

static void begin_slices(cc_runner *r, const cg_step *s) {
  for (uint32_t at = CARRY * s->carries; at < s->buffer_count; at += SLICED) {
    const cg_buffer *pair = buffer_of(r, s, at);
    const address whole = address_of(r, &pair[WHOLE]);
    if (s->reverse)
      cc_say(r, "moving%u = %s + (%s - %s)", pair[SLICE].number, whole.text,
             cc_size_of(r, pair[WHOLE].bytes).text, cc_size_of(r, pair[SLICE].bytes).text);
    else cc_say(r, "moving%u = %s", pair[SLICE].number, whole.text);
  }
}

/* By integers, since the last step leaves the array. */
static void advance_slices(cc_runner *r, const cg_step *s) {
  for (uint32_t at = CARRY * s->carries; at < s->buffer_count; at += SLICED) {
    const cg_buffer *slice = buffer_of(r, s, at + SLICE);
    cc_say(r, "moving%u = (u8 *)((uintptr_t)moving%u %c (uintptr_t)%s)", slice->number, slice->number,
           s->reverse ? '-' : '+', cc_size_of(r, slice->bytes).text);
  }
}

/* Iterations write alternately to both buffers, so that the last one writes the result. */
static void put_scan(cc_runner *r, const cg_step *s) {
  const cg_buffer *carry = buffer_of(r, s, 0);
  uint32_t loop = r->loops++;
  char last[64], next[32];
  snprintf(last, sizeof last, "(%s - 1) %% 2 != 0", cc_size_of(r, s->count).text);
  snprintf(next, sizeof next, "left%u %% 2 == 0", loop);
  begin_carries(r, carry, s->carries, last);
  begin_slices(r, s);
  cc_begin(r, "for (i64 left%u = %s - 1; left%u >= 0; left%u--) {", loop, cc_size_of(r, s->count).text, loop,
           loop);
  put_first(r, s);
  rotate_carries(r, carry, s->carries, next);
  advance_slices(r, s);
  cc_end(r, "}");
  end_carries(r, carry, s->carries);
}

/* custom operations: functions of the host, which get tables of arrays */

static void put_array(cc_runner *r, const cg_buffer *buffer, ir_text *rows) {
  const cg_shape *shape = &buffer->shape;
  ir_textf(rows, "{%s, ", address_of(r, buffer).text);
  if (!shape->rank) ir_text_str(rows, "NULL");
  for (uint32_t i = 0; i < shape->rank; i++)
    ir_textf(rows, "%s%s", i ? ", " : "(const i64[]){", cc_size_of(r, r->p->axes[shape->axes + i]).text);
  ir_textf(rows, "%s, %s, %u, %u}", shape->rank ? "}" : "", cc_size_of(r, shape->elements).text, shape->rank,
           (unsigned)shape->dtype);
}

static void put_words(const void *bytes, size_t size, ir_text *out) {
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && at + i < size; i++)
      word |= (uint64_t)((const uint8_t *)bytes)[at + i] << 8 * i;
    ir_textf(out, "%sUINT64_C(0x%llx)", !at ? "" : at % 32 ? ", " : ",\n    ", (unsigned long long)word);
  }
}

static void put_call(cc_runner *r, const cg_step *s) {
  ir_text rows;
  ir_text_init(&rows, r->file->mem);
  for (uint32_t i = 0; i < s->buffer_count; i++) {
    if (i) ir_text_str(&rows, ", ");
    put_array(r, buffer_of(r, s, i), &rows);
  }
  cc_begin(r, "{");
  cc_say(r, "vf_call_array rows[] = {%s}", s->buffer_count ? ir_text_get(&rows) : "{0}");
  ir_text_free(&rows);
  if (s->attributes.size) {
    ir_text_init(&rows, r->file->mem);
    put_words(s->attributes.bytes, s->attributes.size, &rows);
    cc_say(r, "static const u64 attributes[] = {%s}", ir_text_get(&rows));
    ir_text_free(&rows);
  }
  cc_say(r, "if (host->calls[%u](host->user, rows, rows + %u, %s)) return %d", s->kernel, s->carries,
         s->attributes.size ? "attributes" : "NULL", IR_ERR_DEVICE);
  cc_end(r, "}");
}

static void put_step(cc_runner *r, const cg_step *s) {
  switch (s->kind) {
  case IR_STEP_KERNEL: put_kernel(r, s); return;
  case IR_STEP_COPY: put_copy(r, buffer_of(r, s, 0), buffer_of(r, s, 1)); return;
  case IR_STEP_COND: put_cond(r, s); return;
  case IR_STEP_WHILE: put_while(r, s); return;
  case IR_STEP_SCAN: put_scan(r, s); return;
  case IR_STEP_CALL: put_call(r, s); return;
  case IR_STEP_SORT:
  case IR_STEP_ARGSORT:
  case IR_STEP_EXCHANGE:
  case IR_STEP_WAIT:
  case IR_STEP_KINDS: break;
  }
  ir_fail(r->error, IR_ERR_INTERNAL, "build: no code is made for a step of kind %s", ir_step_names[s->kind]);
}

static void put_range(cc_runner *r, const cg_step *s, const cg_step *end) {
  for (; s < end; s += 1 + s->inside[0] + s->inside[1]) put_step(r, s);
}

void cc_put_steps(cc_runner *r) {
  const cg_program *p = r->p;
  put_range(r, p->steps, p->steps + p->step_count);
  for (size_t i = 0; i < p->copy_count; i++) put_copy(r, &p->copies[2 * i], &p->copies[2 * i + 1]);
}

void cc_put_data(cc_runner *r) {
  for (size_t i = 0; i < r->p->data_count; i++) {
    const cg_bytes *data = &r->p->data[i];
    if (!r->reads_data[i]) continue;
    ir_textf(r->out, "static const _Alignas(%d) u64 data%zu[] = {\n    ", CG_ARENA_ALIGN, i);
    if (data->size) put_words(data->bytes, data->size, r->out);
    else ir_text_str(r->out, "0");
    ir_text_str(r->out, "};\n");
  }
}
