/* The folder ir/mesh. Meshes of devices, and how an array is divided among them.
 *
 *   in      named axes with sizes; for an array, the axes of the mesh that divide each of its dimensions
 *   out     the box of the array that a device holds; text, read and written
 *   holds   everything follows from mesh, spec, shape and the number of a device: devices need not ask each
 *           other
 *
 * A mesh is a grid of devices with named axes, row-major: device p has the coordinate
 * (p div stride) mod size along an axis. A sub-axis `x:(m)k` is a digit of the coordinate along x, which has
 * size n: (c div (n / (m k))) mod k. Sub-axes of one axis are apart if their ranges [m, m k) are. The whole
 * axis is its own sub-axis, of m = 1 and k = n.
 *
 * The devices along an axis may have weights, as in x=3:1: then what is divided along it is in that
 * proportion. Such an axis has no other sub-axis than itself. */
#ifndef VIEWFOLD_IR_MESH_MESH_H
#define VIEWFOLD_IR_MESH_MESH_H

#include "ir/lex/lex.h"

enum {
  IR_MESH_AXES = 8,
  IR_MESH_DEVICES = 1 << 20,
  IR_MESH_NAME = 32,        /* bytes of a name, with its NUL */
  IR_SUBAXES = 28,          /* sub-axes apart of one mesh: 20 of at least 2 devices, and axes of one device */
  IR_MESH_WEIGHTS = 1 << 30 /* because twice its square fits 64 bits: see weights.c */
};

typedef struct ir_mesh_axis {
  char name[IR_MESH_NAME];
  int32_t size;
  double latency, bandwidth; /* seconds for a message, bytes in a second; 0: not known */
  int32_t *before;           /* size + 1 numbers: the weights of all devices before one; NULL: all are 1 */
} ir_mesh_axis;
/* Where a device is: `cpu` (threads of a process), `opencl:1`, of the process with that rank. */
typedef struct ir_mesh_device {
  char name[IR_MESH_NAME];
  uint32_t rank;
} ir_mesh_device;
typedef struct ir_mesh {
  char name[IR_MESH_NAME]; /* without @; "" where there is one mesh */
  uint32_t axis_count, device_count;
  ir_mesh_axis axes[IR_MESH_AXES];
  ir_mesh_device *devices; /* device_count, in the order of the mesh; NULL: all are `cpu` of one process */
  double memory;           /* bytes that a device may hold; 0: not known */
  double pace;             /* of the slowest device, against the fastest, weights counted; 0: not known */
  const ir_mem *mem;
} ir_mesh;

typedef struct ir_subaxis {
  uint8_t axis;
  int32_t pre, size; /* m and k */
  bool weighted;     /* a whole axis of weights: no digit of it is a sub-axis */
} ir_subaxis;

/* mesh.c */
/* A mesh of no axes, which has one device. */
void ir_mesh_init(ir_mesh *mesh, const ir_mem *mem);
void ir_mesh_free(ir_mesh *mesh);
/* Adds the minor-most axis. False, with the reason in *error: the name is empty, too long, or there already;
 * the size is below 1; more than IR_MESH_AXES axes or IR_MESH_DEVICES devices; devices are given. */
bool ir_mesh_add(ir_mesh *mesh, const char *name, size_t length, int64_t size, ir_error *error);
/* Gives the devices along the last axis weights of at least 1, which are divided by what they have in common;
 * where all are equal then, the axis has none. count is its size. False, with the reason: one is below 1, the
 * product of the sums of all axes is above IR_MESH_WEIGHTS, or memory is short. */
bool ir_mesh_weigh(ir_mesh *mesh, const int64_t *weights, size_t count, ir_error *error);
/* Gives the devices, whose names and ranks are copied; there must be as many as the mesh has. */
bool ir_mesh_place(ir_mesh *mesh, const ir_mesh_device *devices, size_t count, ir_error *error);
bool ir_mesh_copy(ir_mesh *to, const ir_mesh *from, const ir_mem *mem); /* false when memory is short */
int ir_mesh_find(const ir_mesh *mesh, const char *name, size_t length); /* an axis by its name; -1: none */
int64_t ir_mesh_coordinate(const ir_mesh *mesh, int64_t device, uint32_t axis);
/* The same axes, sizes, weights and places of devices? Names of meshes, latencies and bandwidths do not
 * count. */
bool ir_mesh_equal(const ir_mesh *a, const ir_mesh *b);
/* The same but for the places of devices? */
bool ir_mesh_same_axes(const ir_mesh *a, const ir_mesh *b);
bool ir_same_weights(const ir_mesh_axis *a, const ir_mesh_axis *b);
bool ir_mesh_is_weighted(const ir_mesh *mesh); /* has any axis weights? */

/* weights.c: of an axis; the copy has none so far. False when memory is short. */
bool ir_axis_copy_weights(ir_mesh_axis *to, const ir_mesh_axis *from, const ir_mem *mem);
/* Is an axis of that size, without weights, possible beside those that the mesh has? And what is said else.
 */
bool ir_mesh_has_room(const ir_mesh *mesh, int64_t size);
extern const char ir_mesh_too_heavy[];
void ir_axis_free_weights(ir_mesh_axis *axis, const ir_mem *mem);

/* subaxis.c */
/* The axis as its own sub-axis. */
ir_subaxis ir_whole_axis(const ir_mesh *mesh, uint32_t axis);
/* The digit of a device along it, from 0 to its size - 1. */
int64_t ir_subaxis_coordinate(const ir_mesh *mesh, int64_t device, ir_subaxis s);
/* Does n devices along the axis have such a digit: m, k >= 1 and n % (m k) = 0? Of weights, only itself. */
bool ir_subaxis_fits(const ir_mesh *mesh, ir_subaxis s);
bool ir_subaxes_overlap(ir_subaxis a, ir_subaxis b);
bool ir_subaxes_equal(ir_subaxis a, ir_subaxis b);
/* `minor` is the next digit after `major`: *out is both as one. */
bool ir_subaxes_join(ir_subaxis major, ir_subaxis minor, ir_subaxis *out);
/* Writes its digits of prime size, the major first, the larger primes first; returns their number, at most
 * 20. A sub-axis of size 1 has none, and an axis of weights is its own. */
uint32_t ir_subaxis_primes(ir_subaxis s, ir_subaxis *out);
/* An order of sub-axes: by axis, then the major digit first. */
int ir_subaxes_compare(ir_subaxis a, ir_subaxis b);

/* mesh_text.c */
/* Reads `[x=2, y=4]`, or `[x=3:1]` of two devices with weights, and what may follow on the line:
 * `devices=["cpu","opencl:1","cpu@1"]` (of rank 1), `latency=[1e-6,2e-6]` and `bandwidth=[1e10,1e9]` of each
 * axis, `memory=8e9`. False after an error. */
bool ir_mesh_read(ir_lexer *lexer, ir_mesh *mesh);
/* `x=2,y=4`, as on a command line; `x2,y4` reads as the same, and so does what ir_mesh_read reads. False,
 * with the reason in *error. */
bool ir_mesh_parse(ir_mesh *mesh, const char *text, size_t length, ir_error *error);
/* `mesh @m [x=2,y=4] devices=...`, without a newline */
void ir_mesh_print(const ir_mesh *mesh, ir_text *out);
/* `x`, or `x:(1)2` where it is not the whole axis */
void ir_subaxis_print(const ir_mesh *mesh, ir_subaxis s, ir_text *out);
/* At a name: reads `x` or `x:(1)2`. False after an error. */
bool ir_subaxis_read(ir_lexer *lexer, const ir_mesh *mesh, ir_subaxis *out);

/* rates.c */
/* Weights of the devices along an axis, by coordinate, of rates that are as many as devices: in proportion to
 * the slowest device of each coordinate, in small numbers. False: they are about equally fast, or not known.
 */
bool ir_mesh_propose(const ir_mesh *mesh, const double *rates, uint32_t axis, int64_t *weights);

/* The rate of the device that has most to do for its rate, weights counted, over that of the fastest: 1 where
 * all are equally fast, or are divided by their rates; 0: they are not known. */
double ir_mesh_pace(const ir_mesh *mesh, const double *rates);

#endif
