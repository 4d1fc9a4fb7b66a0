/* EXCHANGE: how the devices that run one program get elements of each other.
 *
 * An array of which each device has a part is distributed. All devices run the same graph, each with its own
 * values of variables: its coordinates. The operand of an EXCHANGE is the device's part, a box of the
 * distributed array that begins at the index `at` and has the operand's sizes. The result is the box that
 * begins at the index `start` and has the result's sizes. Both depend on the device's coordinates.
 *
 * A box may be empty. Boxes of several devices may overlap: they hold the same elements there. Each element
 * of a result lies in the part of some device. Devices run the exchanges of a graph in the same order, so
 * where one is inside of a function, conditions and numbers of iterations are the same on all of them. One
 * device alone is its own and only owner.
 *
 * Where devices run programs that were compiled for unlike targets, exchanges have numbers, as in
 * `all_gather#1`, and every program comes to them in the order of these numbers.
 *
 * Gathering, redistributing, halos and shifts differ in these boxes only; the attribute `kind` is what the
 * exchange is called. Sums over devices are exchanges of the summands, and a reduction of what arrives. */
#ifndef VIEWFOLD_IR_EXCHANGE_H
#define VIEWFOLD_IR_EXCHANGE_H

#include <string.h>

#include "ir.h"

/* The first index of the result along an axis, and that of the operand, in the distributed array. */
static inline ir_ref ir_exchange_start(const ir_graph *graph, ir_ref exchange, uint32_t axis) {
  return ir_src(graph, exchange, 1 + ir_rank(graph, exchange) + axis);
}
static inline ir_ref ir_exchange_at(const ir_graph *graph, ir_ref exchange, uint32_t axis) {
  return ir_src(graph, exchange, 1 + 2 * ir_rank(graph, exchange) + axis);
}

/* Has the kind of an exchange a number? False of other nodes. */
static inline bool ir_exchange_is_numbered(const ir_graph *graph, ir_ref exchange) {
  const ir_node *n = ir_get(graph, exchange);
  return n->op == IR_OP_EXCHANGE && strchr(ir_name_text(graph, n->arg), '#');
}

#endif
