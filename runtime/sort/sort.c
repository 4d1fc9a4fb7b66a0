/* Lines of an array, sorted one by one or, where they are short, RT_SORT_LINES at a time, on all threads. */
#include "runtime/sort/sort.h"

#include <string.h>

#include "runtime/sort/lines.h"

enum {
  LINE_ALIGN = 64,
  /* keys of a group of lines: neighbours in memory are in different lines where the axis is not the last, and
   * so many stay in the L2 cache while they are read */
  GROUP_KEYS = 64 << 10,
  FIRST_OF = 8, /* the first n / 8 of n: of more, 128 elements are sorted whole in less time (Zen 4) */
  /* of short lines n * n / 2048: 64 of n keys are sorted sixteen at a time for as much as registers take for
   * the first two, 128 for the first six, 256 for the first thirty (f32, Zen 4) */
  LINE_OF = 2048,
  GRAIN_KEYS = 16 << 10 /* keys that are worth a thread's time: 16 us or more */
};

static size_t bytes_of(ir_dtype t) { return (size_t)ir_dtypes[t].bytes; }

/* The code of the dtype in keys of 64 bits for elements of 64, of 32 for others. */
static rt_sort_code code_of(ir_dtype t, bool descending) {
  int width = t == IR_F16 || t == IR_BF16 ? 16 : t == IR_F32 ? 32 : 64;
  int exponent = t == IR_F16 ? 5 : t == IR_F64 ? 11 : 8, key = bytes_of(t) == 8 ? 64 : 32;
  bool is_signed = t == IR_I8 || t == IR_I16 || t == IR_I32 || t == IR_I64;
  rt_sort_code code = {.is_float = ir_is_float(t), .flip = is_signed ? (uint64_t)1 << (key - 1) : 0};
  if (code.is_float)
    code.infinity = (((uint64_t)1 << exponent) - 1) << (width - 1 - exponent) << (key - width);
  if (descending) code.flip = ~code.flip;
  return code;
}

/* Are the first elements of lines found in less time where many lines are sorted together? */
static bool lines_are_faster(const sort_lines *l, size_t n) {
  bool together = n <= l->machine->most_in_line && l->sort->outer * l->sort->inner >= RT_SORT_LEAST_LINES;
  return together && LINE_OF * l->first >= n * n;
}

static sort_lines lines_of(const rt_sort *s, const rt_sort_machine *machine) {
  sort_lines l = {.sort = s, .machine = machine, .code = code_of(s->dtype, s->descending)};
  size_t n = (size_t)s->size;
  l.code.one_zero = s->positions;
  l.bytes = bytes_of(s->dtype), l.wide = l.bytes == 8;
  l.first = (size_t)(s->first < 0 ? 0 : s->first < s->size ? s->first : s->size);
  l.group = n <= machine->most_in_line || s->inner > 1 ? RT_SORT_LINES : 1;
  if (n > machine->most_in_line && l.group * n > GROUP_KEYS) l.group = n < GROUP_KEYS ? GROUP_KEYS / n : 1;
  l.capacity = SORT_CAPACITY(l.first);
  l.in_registers = s->positions && l.first <= (l.wide ? machine->most_first_u64 : machine->most_first_u32);
  l.in_registers &= FIRST_OF * l.first <= n && !lines_are_faster(&l, n);
  l.selects = l.in_registers || (s->positions && l.capacity < n && n > machine->most_in_line);
  if (l.selects) l.group = l.in_registers && s->inner > 1 ? RT_SORT_LINES : 1;
  l.contiguous = s->inner == 1 && l.bytes >= sizeof(uint32_t);
  l.in_place = s->positions ? s->inner == 1 && l.group == 1 && !l.selects : l.contiguous && l.group == 1;
  size_t key = s->positions || l.wide ? 8 : 4, most = l.in_registers ? 0 : l.selects ? l.capacity : n;
  l.keys_bytes = (l.in_place ? 0 : l.group * most * key + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN;
  l.room_bytes = ((most + RT_SORT_SPARE) * key + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN;
  return l;
}

size_t rt_sort_room(const rt_sort *s, const rt_sort_machine *machine) {
  sort_lines l = lines_of(s, machine);
  return l.keys_bytes + l.room_bytes;
}

typedef struct job {
  sort_lines lines;
  uint8_t *room;
  size_t each;
} job;

/* Groups begin .. end of lines. */
static void sort_groups(void *context, int worker, int64_t begin, int64_t end) {
  const job *j = context;
  const sort_lines *l = &j->lines;
  size_t count = (size_t)(l->sort->outer * l->sort->inner);
  uint8_t *keys = j->room + (size_t)worker * j->each, *room = keys + l->keys_bytes;
  for (size_t g = (size_t)begin; g < (size_t)end; g++) {
    size_t first = g * l->group, lines = count - first < l->group ? count - first : l->group;
    if (l->in_registers) sort_first(l, first, lines);
    else if (l->selects) sort_select(l, first, keys, room);
    else if (l->sort->positions) sort_positions(l, first, lines, keys, room);
    else sort_values(l, first, lines, keys, room);
  }
}

void rt_sort_run(const rt_sort *s, const rt_sort_machine *machine, rt_pool *pool, uint8_t *room,
                 size_t each) {
  job j = {lines_of(s, machine), room, each};
  int64_t lines = s->outer * s->inner, group = (int64_t)j.lines.group;
  int64_t grain = GRAIN_KEYS / (group * s->size + 1);
  if (lines && s->size && j.lines.first)
    rt_pool_run(pool, sort_groups, &j, (lines + group - 1) / group, grain ? grain : 1, 0);
}
