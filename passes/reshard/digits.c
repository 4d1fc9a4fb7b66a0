/* Specs in digits: which sub-axes take part in a redistribution, and as how many digits. */
#include <string.h>

#include "impl.h"

enum {
  LATENCY = 1000000, /* picoseconds of a message, where the mesh does not say: 1 microsecond */
  PER_BYTE = 100,    /* picoseconds, likewise: 10 GB/s */
  MOST_APART = 64,   /* devices that are looked at one by one for each of thousands of ways: milliseconds */
  COARSE = 6 /* digits in mode time, where primes are too many: 4 or 5 steps are what the bound asks for */
};
static const double picoseconds = 1e12; /* of a second */

/* Sub-axes that neither spec divides, of all axes, the major first. */
typedef struct segments {
  ir_subaxis list[RESHARD_DIGITS];
  uint32_t count;
} segments;

static uint32_t all_axes(const ir_spec *spec, const ir_subaxis **axes) {
  *axes = spec->axes;
  return spec->ends[IR_PLACES - 1];
}

/* The next place at which a spec divides the axis behind `pre`. */
static int32_t next_cut(const ir_spec *spec, uint32_t axis, int32_t pre, int32_t next) {
  const ir_subaxis *axes;
  uint32_t count = all_axes(spec, &axes);
  for (uint32_t i = 0; i < count; i++) {
    if (axes[i].axis != axis) continue;
    int32_t ends[2] = {axes[i].pre, axes[i].pre * axes[i].size};
    for (int k = 0; k < 2; k++)
      if (ends[k] > pre && ends[k] < next) next = ends[k];
  }
  return next;
}

/* False where cuts do not nest, as (1)2 and (1)3 of 6. */
static bool cut_axes(const pass_reshard_ask *ask, segments *out) {
  for (uint32_t a = 0; a < ask->mesh->axis_count; a++)
    for (int32_t pre = 1, size = ask->mesh->axes[a].size, next; pre < size; pre = next) {
      next = next_cut(ask->to, a, pre, next_cut(ask->from, a, pre, size));
      if (next % pre || out->count == RESHARD_DIGITS) return false;
      out->list[out->count++] = (ir_subaxis){(uint8_t)a, pre, next / pre, ask->mesh->axes[a].before != NULL};
    }
  return true;
}

static bool is_within(ir_subaxis inner, ir_subaxis outer) {
  return inner.axis == outer.axis && inner.pre >= outer.pre &&
         (int64_t)inner.pre * inner.size <= (int64_t)outer.pre * outer.size;
}

/* The segments of the sub-axes of a place, in their order. */
static uint32_t segments_of(const segments *s, const ir_spec *spec, uint32_t place, uint8_t *out) {
  uint32_t count, n = 0;
  const ir_subaxis *axes = ir_spec_axes(spec, place, &count);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < s->count; k++)
      if (is_within(s->list[k], axes[i])) out[n++] = (uint8_t)k;
  return n;
}

static uint32_t bits_of(const segments *s, const ir_spec *spec, uint32_t place) {
  uint8_t list[RESHARD_DIGITS];
  uint32_t bits = 0, n = segments_of(s, spec, place, list);
  for (uint32_t i = 0; i < n; i++) bits |= 1u << list[i];
  return bits;
}

/* How many leading segments of the dimension are the same in both specs and may be left out: where all
 * devices together divide the dimension evenly, so do all layouts on the way, and their parts nest. */
static uint32_t common(const segments *s, const pass_reshard_ask *ask, uint32_t dim) {
  uint8_t a[RESHARD_DIGITS], b[RESHARD_DIGITS];
  uint32_t n = segments_of(s, ask->from, dim, a), m = segments_of(s, ask->to, dim, b), same = 0;
  if (ask->shape[dim] % ask->mesh->device_count || ir_mesh_is_weighted(ask->mesh)) return 0;
  while (same < n && same < m && a[same] == b[same]) same++;
  return same;
}

/* Do digits that all specs begin with take part? Where axes differ in time, a fast one may move what a slow
 * one has, as long as all ways are looked at. */
static bool all_take_part(const pass_reshard_ask *ask, const segments *s, bool uniform) {
  ir_subaxis digits[20];
  uint32_t count = 0;
  for (uint32_t k = 0; k < s->count; k++) count += ir_subaxis_primes(s->list[k], digits);
  return ask->mode == PASS_RESHARD_TIME && !uniform && count <= PASS_RESHARD_EXACT;
}

/* Where all devices divide one dimension evenly, others that they do not divide are no better on the way:
 * those of size 1, as one device would have all; and with many devices, whose bytes would have to be found
 * one by one, all of them. What the specs ask for stays. */
static uint32_t passed_over(const pass_reshard_ask *ask) {
  uint32_t uneven = 0, even = 0;
  if (ir_mesh_is_weighted(ask->mesh)) return 0;
  for (uint32_t d = 0; d < ask->from->rank; d++) {
    bool divides = ask->shape[d] > 0 && ask->shape[d] % ask->mesh->device_count == 0;
    even |= (uint32_t)divides << d;
    if (divides || ir_spec_count(ask->to, d) || ir_spec_count(ask->from, d)) continue;
    if (ask->shape[d] == 1 || ask->mesh->device_count > MOST_APART) uneven |= 1u << d;
  }
  return even ? uneven : 0;
}

static void costs_of(const pass_reshard_ask *ask, reshard_problem *p, uint32_t segments_used,
                     const segments *s) {
  int first = -1;
  p->uniform = true;
  for (uint32_t a = 0; a < ask->mesh->axis_count; a++) {
    const ir_mesh_axis *axis = &ask->mesh->axes[a];
    ir_link l = ir_link_make(axis->latency > 0 ? axis->latency : LATENCY / picoseconds,
                             axis->bandwidth > 0 ? 1 / axis->bandwidth : PER_BYTE / picoseconds);
    p->links[a] = (ir_link){l.flight * picoseconds, l.work * picoseconds, l.byte * picoseconds};
  }
  for (uint32_t k = 0; k < s->count; k++) {
    if (!(segments_used >> k & 1)) continue;
    int a = s->list[k].axis;
    if (first < 0) p->least = p->links[first = a];
    const ir_link *l = &p->links[a], *one = &p->links[first];
    p->uniform &= l->flight == one->flight && l->work == one->work && l->byte == one->byte;
    if (l->flight < p->least.flight) p->least.flight = l->flight;
    if (l->work < p->least.work) p->least.work = l->work;
    if (l->byte < p->least.byte) p->least.byte = l->byte;
  }
}

/* Divides a sub-axis in two, the sizes as near as can be. False: its size is prime. */
static bool divide(ir_subaxis s, ir_subaxis *major, ir_subaxis *minor) {
  int32_t k = 1;
  for (int32_t i = 2; (int64_t)i * i <= s.size; i++)
    if (s.size % i == 0) k = i;
  *major = (ir_subaxis){.axis = s.axis, .pre = s.pre, .size = s.size / k};
  *minor = (ir_subaxis){.axis = s.axis, .pre = s.pre * (s.size / k), .size = k};
  return k > 1;
}

static int32_t dividable(ir_subaxis s) { return s.weighted ? 0 : s.size; }

/* The digits of the segments in `used`: all primes where they are at most PASS_RESHARD_EXACT. Otherwise the
 * segments; in mode time, where digits are messages saved, the largest is divided again and again. first[k]
 * .. first[k + 1]: of segment k. */
static void divide_segments(reshard_problem *p, const segments *s, uint32_t used, bool small_first,
                            uint32_t *first) {
  ir_subaxis primes[RESHARD_DIGITS + 20];
  uint32_t total = 0;
  p->prime = p->ordered = true;
  for (uint32_t k = 0; k < s->count; k++)
    if (used >> k & 1 && total <= PASS_RESHARD_EXACT) total += ir_subaxis_primes(s->list[k], primes);
  bool all = total <= PASS_RESHARD_EXACT;
  for (uint32_t k = 0; k < s->count; k++) {
    first[k] = p->digit_count;
    if (!(used >> k & 1)) continue;
    uint32_t n = all ? ir_subaxis_primes(s->list[k], primes) : 1;
    if (!all) primes[0] = s->list[k];
    int32_t pre = s->list[k].pre;
    for (uint32_t i = 0; i < n; i++) {
      int32_t size = primes[small_first ? n - 1 - i : i].size;
      p->digits[p->digit_count++] = (ir_subaxis){s->list[k].axis, pre, size, s->list[k].weighted};
      p->weighted |= s->list[k].weighted;
      p->ordered &= size == primes[0].size;
      pre *= size;
    }
  }
  first[s->count] = p->digit_count;
  while (!all && p->mode == PASS_RESHARD_TIME && p->digit_count < COARSE) {
    uint32_t largest = 0, k = s->count;
    ir_subaxis major, minor;
    for (uint32_t i = 1; i < p->digit_count; i++)
      if (dividable(p->digits[i]) > dividable(p->digits[largest])) largest = i;
    if (!dividable(p->digits[largest]) || !divide(p->digits[largest], &major, &minor)) break;
    memmove(p->digits + largest + 1, p->digits + largest, (p->digit_count - largest) * sizeof *p->digits);
    p->digits[largest] = major, p->digits[largest + 1] = minor;
    p->digit_count++;
    for (; first[k] > largest; k--) first[k]++;
  }
  p->prime = all;
}

static bool is_even(const reshard_problem *p) {
  int64_t devices = 1;
  bool even = true;
  for (uint32_t k = 0; k < p->digit_count; k++) {
    devices *= p->digits[k].size;
    even &= p->digits[k].size == p->digits[0].size && !p->digits[k].weighted;
  }
  for (uint32_t d = 0; d < p->rank; d++) even &= p->shape[d] % devices == 0;
  return even;
}

/* The layout of a spec, without what is common; `pending`: segments. */
static void layout_of(reshard_problem *p, const segments *s, const uint32_t *first, const ir_spec *spec,
                      uint32_t pending, const uint32_t *skip, reshard_layout *out) {
  uint32_t end = 0;
  memset(out, 0, sizeof *out);
  for (uint32_t d = 0; d < p->rank; d++) {
    uint8_t list[RESHARD_DIGITS];
    uint32_t n = segments_of(s, spec, d, list);
    for (uint32_t i = skip[d]; i < n; i++)
      for (uint32_t k = first[list[i]]; k < first[list[i] + 1u]; k++) out->order[end++] = (uint8_t)k;
    out->ends[d] = (uint8_t)end;
  }
  for (uint32_t k = 0; k < s->count; k++)
    for (uint32_t i = first[k]; i < first[k + 1] && pending >> k & 1; i++) out->pending |= 1u << i;
}

static bool check(const pass_reshard_ask *ask, ir_error *error) {
  uint64_t bytes = ask->item ? ask->item : 1, most = (uint64_t)1 << 62;
  const char *wrong = NULL;
  if (ask->from->rank != ask->to->rank) wrong = "the specs have different ranks";
  bytes *= 4 * (uint64_t)ask->mesh->device_count;
  for (uint32_t d = 0; d < ask->from->rank && !wrong; d++) {
    if (ask->shape[d] < 0) wrong = "a size is negative";
    else if (ask->shape[d] && bytes > most / (uint64_t)ask->shape[d]) wrong = "the array has too many bytes";
    else bytes *= ask->shape[d] ? (uint64_t)ask->shape[d] : 1;
  }
  if (wrong) ir_fail(error, IR_ERR_INVALID, "reshard: %s", wrong);
  return !wrong && ir_spec_check(ask->mesh, ask->from, error) && ir_spec_check(ask->mesh, ask->to, error);
}

bool reshard_problem_make(const ir_mem *mem, const pass_reshard_ask *ask, bool small_first,
                          reshard_problem *p, ir_error *error) {
  segments s = {.count = 0};
  uint32_t skip[IR_MAX_RANK], first[RESHARD_DIGITS + 1], used = 0, gone = 0;
  if (!check(ask, error)) return false;
  if (!cut_axes(ask, &s)) {
    ir_fail(error, IR_ERR_UNSUPPORTED,
            "reshard: the specs divide an axis of the mesh at places that do not nest");
    return false;
  }
  uint32_t before = bits_of(&s, ask->from, IR_PLACE_PENDING), after = bits_of(&s, ask->to, IR_PLACE_PENDING);
  if (after & ~before || (after && ask->from->joined_by != ask->to->joined_by)) {
    ir_fail(error, IR_ERR_INVALID,
            "reshard: what is pending afterwards must be pending before, by the same operation");
    return false;
  }
  memset(p, 0, sizeof *p);
  p->mem = mem, p->mesh = ask->mesh, p->rank = ask->from->rank, p->item = ask->item, p->limit = ask->limit,
  p->work = ask->work;
  p->mode = ask->mode, p->at_once = ask->at_once;
  p->devices = ask->mesh->device_count, p->apart = 1;
  costs_of(ask, p, ~0u, &s);
  bool all = all_take_part(ask, &s, p->uniform);
  ir_spec_init(&p->prefix, p->rank);
  p->prefix.joined_by = ask->from->joined_by;
  for (uint32_t d = 0; d < p->rank; d++) {
    uint8_t list[RESHARD_DIGITS];
    uint32_t n = segments_of(&s, ask->from, d, list);
    skip[d] = all ? 0 : common(&s, ask, d);
    p->shape[d] = ask->shape[d];
    for (uint32_t i = 0; i < skip[d]; i++) {
      ir_spec_push(&p->prefix, d, s.list[list[i]]);
      p->shape[d] /= s.list[list[i]].size;
      p->apart *= (uint64_t)s.list[list[i]].size;
      gone |= 1u << list[i];
    }
    for (uint32_t i = skip[d]; i < n; i++) used |= 1u << list[i];
    used |= bits_of(&s, ask->to, d);
  }
  for (uint32_t k = 0; k < s.count; k++)
    if (after >> k & 1)
      p->apart *= (uint64_t)s.list[k].size, ir_spec_push(&p->prefix, IR_PLACE_PENDING, s.list[k]);
  used = (used | before) & ~gone & ~after;
  /* devices along other axes hold the same: they help with sums, where memory is short, and where an axis is
   * faster */
  uint32_t idle = ~(used | gone | after) & (uint32_t)(((uint64_t)1 << s.count) - 1), count = 0;
  costs_of(ask, p, used | idle, &s);
  for (uint32_t k = 0; k < s.count; k++) count += (used | idle) >> k & 1;
  bool helps = before != after || p->limit || (p->mode == PASS_RESHARD_TIME && !p->uniform);
  if (count <= PASS_RESHARD_EXACT && helps) used |= idle;
  costs_of(ask, p, used, &s);
  divide_segments(p, &s, used, small_first, first);
  p->even = is_even(p);
  p->passed_over = passed_over(ask);
  layout_of(p, &s, first, ask->from, before & ~after, skip, &p->from);
  layout_of(p, &s, first, ask->to, 0, skip, &p->to);
  return true;
}

void reshard_spec_of(const reshard_problem *p, const reshard_layout *layout, ir_spec *out) {
  ir_spec whole = p->prefix;
  for (uint32_t d = 0; d < p->rank; d++)
    for (uint32_t i = reshard_first(layout, d); i < layout->ends[d]; i++)
      ir_spec_push(&whole, d, p->digits[layout->order[i]]);
  for (uint32_t k = 0; k < p->digit_count; k++)
    if (layout->pending >> k & 1) ir_spec_push(&whole, IR_PLACE_PENDING, p->digits[k]);
  ir_spec_canonical(&whole, out);
}
