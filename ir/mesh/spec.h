/* Specs: how an array is divided among the devices of a mesh.
 *
 * Each dimension has the sub-axes that divide it, the major first. The S = k1 k2 .. parts of a dimension of
 * size n are chunks of c = ceil(n / S): part p is [min(p c, n), min(p c + c, n)), so the last ones may be
 * shorter, or empty. Where one of the axes has weights, a part has the product of those of its coordinates;
 * it ends where the nearest whole number is to its share of n with all parts before it, upwards from a half.
 * So parts differ from their shares by less than one element, and those of [x.y] lie within those of [x].
 * Along axes that are named nowhere devices hold the same (M7); along those that are named as replicated they
 * have to.
 *
 * Along pending axes each device holds a summand: the value is the sum over their coordinates, in the order
 * of the mesh, or the product, extremum and so on. One operation joins along all pending axes, since others
 * do not commute with it.
 *
 *   [x,-]       dimension 0 is divided along x; dimension 1 is whole
 *   [x.y,?]     along x, and each part along y; `?`: propagation may divide further. `x?` is open as well
 *   [x:(1)2]    along the major digit of x
 *   [x p1]      of priority 1, below those of 0; printed with the blank
 *   [x,-]!y     replicated along y, whatever propagation would like
 *   [x,-]+y     pending sum along y; [x,-]+max(y), with prod, min, any, all likewise; +x.y, +max(x.y) */
#ifndef VIEWFOLD_IR_MESH_SPEC_H
#define VIEWFOLD_IR_MESH_SPEC_H

#include "ir/ir.h"
#include "mesh.h"

enum { IR_PLACE_REPLICATED = IR_MAX_RANK, IR_PLACE_PENDING, IR_PLACES, IR_PRIORITY_MOST = 999 };

typedef struct ir_spec {
  uint8_t rank;
  uint8_t
      joined_by; /* ir_op: ADD MUL MAX MIN OR AND, WHERE of what one device has; ADD: nothing is pending */
  uint8_t ends[IR_PLACES]; /* place p, a dimension or one of the above, has axes[ends[p - 1] .. ends[p]) */
  bool open[IR_MAX_RANK];  /* may propagation divide the dimension further? */
  uint16_t priority[IR_MAX_RANK]; /* 0 is the strongest */
  ir_subaxis axes[IR_SUBAXES];
} ir_spec;

/* spec.c */
void ir_spec_init(ir_spec *spec, uint32_t rank); /* whole and closed everywhere: each device holds it all */
/* The first of the sub-axes of a place, and their number. */
const ir_subaxis *ir_spec_axes(const ir_spec *spec, uint32_t place, uint32_t *count);
uint32_t ir_spec_count(const ir_spec *spec, uint32_t place);
int64_t ir_spec_parts(const ir_spec *spec, uint32_t place); /* product of the sizes of its sub-axes */
/* Adds the minor-most sub-axis of a dimension, joined to the one before it where that makes one; replicated
 * and pending ones are kept in the order of the mesh. False when there is no room. */
bool ir_spec_add(ir_spec *spec, uint32_t place, ir_subaxis s);
/* The same, not joined. */
bool ir_spec_push(ir_spec *spec, uint32_t place, ir_subaxis s);
void ir_spec_clear(ir_spec *spec, uint32_t place);
/* All sub-axes of prime size, not joined; those of size 1 are gone. False when there is no room. */
bool ir_spec_to_primes(const ir_spec *spec, ir_spec *out);
/* Neighbours joined, sub-axes of size 1 gone: the form in which equal divisions have equal axes. */
void ir_spec_canonical(const ir_spec *spec, ir_spec *out);
/* Are the rules kept: sub-axes fit their axes, no two overlap, no priority without axes in a closed
 * dimension? False, with the reason. */
bool ir_spec_check(const ir_mesh *mesh, const ir_spec *spec, ir_error *error);
/* The same parts on every device, and the same pending axes? Open, priority and explicit replication do not
 * count (M11). */
bool ir_spec_same_parts(const ir_spec *a, const ir_spec *b);
bool ir_spec_equal(const ir_spec *a, const ir_spec *b);
bool ir_spec_is_whole(const ir_spec *spec); /* does every device hold all of the value? */

/* foreign_spec.c. The spec here of a text that writes one as another system does; false: it is none that is
 * known. */
enum { IR_SPEC_MEANT = 256 }; /* because specs are shorter */
bool ir_spec_meant(const ir_mesh *mesh, const char *text, size_t length, char out[IR_SPEC_MEANT]);

/* box.c: positions lo <= i < hi of an array */
typedef struct ir_box {
  uint32_t rank;
  int64_t lo[IR_MAX_RANK], hi[IR_MAX_RANK];
} ir_box;
/* Which of the parts of a place a device has: mixed radix over its coordinates. */
int64_t ir_spec_position(const ir_mesh *mesh, const ir_spec *spec, uint32_t place, int64_t device);
/* The part of a device. */
void ir_spec_box(const ir_mesh *mesh, const ir_spec *spec, const int64_t *shape, int64_t device, ir_box *out);
int64_t ir_part_size(int64_t size, int64_t parts); /* c = ceil(size / parts); size >= 0, parts >= 1 */
/* Part `position` of a dimension along these axes, which are whole or digits of the mesh. */
void ir_part_of(const ir_mesh *mesh, const ir_subaxis *axes, uint32_t count, int64_t size, int64_t position,
                int64_t *lo, int64_t *hi);

/* weights.c */
/* Of a list of axes: the sum of the weights of all parts, and the least and most that a part has; S, 1 and 1
 * where no axis has weights, and the share of all of them is the part. */
typedef struct ir_shares {
  bool weighted;
  int64_t total, least, most;
} ir_shares;
ir_shares ir_shares_of(const ir_mesh *mesh, const ir_subaxis *axes, uint32_t count);
/* What no part has more elements than, and what none has less than but for chunks without weights. */
int64_t ir_most_of(const ir_shares *shares, int64_t size);
int64_t ir_least_of(const ir_shares *shares, int64_t size);
/* Of the digit c of an axis: the sum of the weights of those before it, and its own. */
int64_t ir_weight_before(const ir_mesh *mesh, ir_subaxis s, int64_t c);
int64_t ir_weight_of(const ir_mesh *mesh, ir_subaxis s, int64_t c);
bool ir_is_weighted(const ir_subaxis *axes, uint32_t count);
/* The nearest whole number to size before / total, upwards from a half: 0 <= before <= total. */
int64_t ir_share_end(int64_t size, int64_t before, int64_t total);
bool ir_box_meet(const ir_box *a, const ir_box *b, ir_box *out); /* what is in both; false: nothing is */
int64_t ir_box_elements(const ir_box *box);
/* The size of a dimension of which device d holds parts[d * step] (M10); -1: devices that should hold the
 * same part do not, or the parts are no chunks of any size. */
int64_t ir_spec_global_size(const ir_mesh *mesh, const ir_spec *spec, uint32_t dim, const int64_t *parts,
                            size_t step);

/* spec_text.c */
/* Reads `[x,-]+y`, at its bracket; checked. False after an error. */
bool ir_spec_read(ir_lexer *lexer, const ir_mesh *mesh, ir_spec *out);
bool ir_spec_parse(const ir_mesh *mesh, const char *text, size_t length, ir_spec *out, ir_error *error);
void ir_spec_print(const ir_mesh *mesh, const ir_spec *spec, ir_text *out); /* `[x,-]+y` */
enum { IR_PENDING_KINDS = 7 }; /* sums, products, extrema, any, all, and what one device has */
extern const struct ir_pending_name {
  const char *text;
  ir_op joined_by;
} ir_pending_names[IR_PENDING_KINDS]; /* "sum", ADD first */

#endif
