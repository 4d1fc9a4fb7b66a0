/* What a copy of a view would cost and save, where a kernel reads the view several times through a dear
 * index: one that divides, or whose elements lie apart along the lanes.
 *
 * A copy has the elements of the view in the order in which the loops read them. The kernel is predicted a
 * second time with an index into it, in the same loops: what that takes less is what the copy saves. Making
 * it reads each element once as the kernel does now: a share of what is saved, and its bytes are written. */
#include "frontend/report/explain_kernels.h"
#include "ir/regions.h"
#include "passes/cost/kernel_time.h"
#include "passes/index/affine.h"
#include "passes/index/index.h"

/* Of a kernel, loads that are looked at, and the depth of loops around one: more are not advised on. */
enum { MAX_LOADS = 64, MAX_DEPTH = 64, NS_PER_MS = 1000000 };

/* The loads of one parameter through dear indices, and those of the copy in their place. */
typedef struct view {
  ir_ref from[MAX_LOADS], to[MAX_LOADS];
  uint32_t count, param;
  double elements, reads; /* of the copy; of all loads in one run */
  unsigned divisions;
} view;

typedef struct advisor {
  const fe_explained *e;
  const ir_regions *r;
} advisor;

/* The most iterations that a loop has; 0: they are not known. */
static int64_t trip_count(const advisor *a, ir_ref range) {
  int64_t most = ir_bounds_of(a->e->g, ir_src(a->e->g, range, 0)).hi;
  return most < 1 || most > INT32_MAX ? 0 : most;
}

static int binding_of(const advisor *a, ir_ref range) {
  return ir_arg_mode(ir_get(a->e->g, a->r->loop_of[range]));
}

static unsigned count_divisions(ir_graph *g, ir_ref index) {
  ir_ref found[MAX_LOADS];
  return affine_find_range(g, index, IR_OP_FLOORDIV, found, MAX_LOADS) +
         affine_find_range(g, index, IR_OP_MOD, found, MAX_LOADS);
}

/* The index of the copy: the ranges that the load's index depends on, those of lanes last. 0: there is no
 * copy, or it would have no fewer elements than are read. */
static ir_ref copy_index(const advisor *a, ir_ref load, double *elements, double *reads, bool *apart) {
  ir_graph *g = a->e->g;
  ir_ref index = ir_src(g, load, 1), own[MAX_DEPTH], made = ir_index(g, 0);
  uint32_t count = 0;
  int64_t stride = 1;
  *elements = *reads = 1;
  *apart = false;
  for (ir_ref loop = ir_region_of(a->r, load); loop; loop = ir_region_of(a->r, loop)) {
    ir_ref range = ir_src(g, loop, 0);
    int64_t trips = trip_count(a, range);
    if (!trips || count == MAX_DEPTH) return 0;
    *reads *= (double)trips;
    if (!affine_depends(g, index, range)) continue;
    *elements *= (double)trips;
    own[count++] = range;
    int64_t along;
    bool near = affine_stride(g, index, range, &along) && along >= -1 && along <= 1;
    *apart |= binding_of(a, range) == IR_VECTOR && !near;
  }
  if (*elements > (double)(INT64_MAX >> 8) || *reads <= *elements) return 0;
  for (int lanes = 1; lanes >= 0; lanes--) /* innermost first */
    for (uint32_t i = 0; i < count; i++) {
      if ((binding_of(a, own[i]) == IR_VECTOR) != lanes) continue;
      made = pass_add(g, made, pass_mul_int(g, own[i], stride));
      stride *= trip_count(a, own[i]);
    }
  return made;
}

static void note_load(const advisor *a, ir_ref load, view *v) {
  ir_graph *g = a->e->g;
  double elements, reads;
  bool apart;
  unsigned divisions = count_divisions(g, ir_src(g, load, 1));
  ir_ref index = v->count < MAX_LOADS ? copy_index(a, load, &elements, &reads, &apart) : 0;
  if (!index || (!divisions && !apart)) return;
  const ir_node *n = ir_get(g, load);
  ir_ref to =
      ir_make(g, IR_OP_LOAD, (ir_dtype)n->dtype, n->arg, (ir_ref[]){n->src[0], index, ir_bool(g, true)}, 3);
  if (!to) return;
  v->from[v->count] = load;
  v->to[v->count++] = to;
  v->elements += elements; /* loads of several sub-domains read different ones */
  v->reads += reads;
  if (divisions > v->divisions) v->divisions = divisions;
}

static void put_copy(const advisor *a, size_t number, const view *v) {
  const fe_explained *e = a->e;
  const ir_step *step = &e->plan->steps[number];
  ir_ref kernel = step->kernel;
  pass_kernel_time now, then;
  if (ir_replace(e->g, v->from, v->to, v->count, &kernel, 1) != IR_OK ||
      !pass_kernel_time_of(e->g, step->kernel, e->target, &now) ||
      !pass_kernel_time_of(e->g, kernel, e->target, &then))
    return;
  double bytes = v->elements * ir_dtypes[ir_dtype_of(e->g, v->from[0])].bytes;
  double saved = pass_time_together(&now, 1) - pass_time_together(&then, 1);
  pass_rates rates = pass_rates_of(e->target);
  double cost = (saved > 0 ? saved : 0) * v->elements / v->reads + bytes / rates.write[PASS_LEVEL_L3];
  ir_textf(e->out, "  copies  p%u is read %.4g times, each element of its view %.4g times, ", v->param,
           v->reads, v->reads / v->elements);
  ir_text_str(e->out,
              v->divisions ? "by an index that divides" : "from places that lie apart along the lanes");
  if (saved <= cost) ir_textf(e->out, ": a copy of %.4g MB would save nothing, as predicted\n", bytes * 1e-6);
  else
    ir_textf(e->out, ": a copy of %.4g MB (stored) would cost %.4g ms and save %.4g ms, both predicted\n",
             bytes * 1e-6, cost / NS_PER_MS, saved / NS_PER_MS);
}

void fe_explain_copies(const fe_explained *e, size_t number, const ir_regions *regions) {
  const advisor a = {e, regions};
  const ir_step *step = &e->plan->steps[number];
  view *v = e->target->group_items ? NULL : ir_alloc(e->g->mem, sizeof *v); /* else no time is predicted */
  if (!v && !e->target->group_items) e->out->failed = true;
  for (uint32_t p = 0; p < step->slot_count && v; p++) {
    *v = (view){.param = p};
    for (size_t i = 0; i < regions->count; i++) {
      const ir_node *n = ir_get(e->g, regions->order[i]);
      if (n->op != IR_OP_LOAD || p < ir_written_slots(step)) continue;
      const ir_node *from = ir_get(e->g, n->src[0]);
      if (from->op == IR_OP_PARAM && ir_arg_int(from) == p) note_load(&a, regions->order[i], v);
    }
    if (v->count) put_copy(&a, number, v);
  }
  ir_free(e->g->mem, v, v ? sizeof *v : 0);
}
