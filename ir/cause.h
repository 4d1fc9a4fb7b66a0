/* Where values come from: the statements of the user that asked for them. A graph that has `causes` notes an
 * cause for each tensor node: 4 bytes.
 *
 * A cause is a set of statements, and says of each whether the node is a result of it or a part of what it
 * computes, and whether it is part of a derivative of it. Statements are numbers, counted from 1; what they
 * say is known to whoever records them (frontend/text/statements.h).
 *
 * A new node has the current cause. A node that is the result of several statements has those of all; a part
 * that several statements share has none, and is for those that read it. Whoever replaces nodes enters the
 * node before making others in its place, and leaves it with what it has become; ir_remake does so by itself.
 * Without memory nothing is noted. All functions accept a graph without causes. */
#ifndef VIEWFOLD_IR_CAUSE_H
#define VIEWFOLD_IR_CAUSE_H

#include "ir.h"

/* 0: none is known; bit 31: a set by number; otherwise a statement, with IR_CAUSE_RESULT of its results. */
typedef uint32_t ir_cause;
#define IR_CAUSE_SET    ((ir_cause)1 << 31)
#define IR_CAUSE_RESULT ((ir_cause)1 << 30)

typedef enum ir_cause_kind {
  IR_CAUSE_UNION,     /* a and b */
  IR_CAUSE_PART,      /* a, but no results of it */
  IR_CAUSE_DERIVATIVE /* a, in the derivative that statement b asks for */
} ir_cause_kind;

typedef struct ir_cause_set {
  ir_cause a, b;
  uint32_t kind; /* ir_cause_kind */
} ir_cause_set;

enum { IR_CAUSES_RECENT = 64 };
typedef struct ir_causes {
  const ir_mem *mem;
  ir_cause_set *sets;
  size_t set_count, set_cap;
  ir_cause current;
  uint32_t gap;        /* the compiler would make a vector of what is beside it, which takes longer */
  uint32_t statements; /* numbers given so far */
  uint32_t recent[IR_CAUSES_RECENT]; /* sets made lately, by the hash of what they are made of, plus 1 */
} ir_causes;

/* Let the graph note causes; those of the nodes that it has are not known. To be freed. */
void ir_causes_open(ir_causes *causes, ir_graph *g);
/* Frees what there is, and leaves none. */
void ir_causes_free(ir_causes *causes);
/* What ir_graph_copy does for causes: map, of `count` nodes, has the copy of each. The current cause is
 * that of nodes whose cause is not known. */
void ir_causes_copy(ir_graph *dst, const ir_graph *src, const ir_ref *map, uint32_t count);

/* Where the cause of a node is kept, in a graph that has causes: behind the nodes of its chunk. */
static inline ir_cause *ir_cause_at(const ir_graph *g, ir_ref node) {
  return (ir_cause *)(void *)(g->chunks[node >> IR_CHUNK_BITS] + (1u << IR_CHUNK_BITS)) +
         (node & ((1u << IR_CHUNK_BITS) - 1));
}
/* The cause of a node. 0: it is not known, or those of all that read the node, which share it as a part. */
static inline ir_cause ir_cause_of(const ir_graph *g, ir_ref node) {
  return g->causes ? *ir_cause_at(g, node) : 0;
}
/* The cause of what is made for both. */
ir_cause ir_cause_union(ir_causes *causes, ir_cause a, ir_cause b);
/* Is it known, and perhaps that of a part? No result of one statement is. */
static inline bool ir_cause_is_part(ir_cause cause) {
  return cause && (cause & (IR_CAUSE_SET | IR_CAUSE_RESULT)) != IR_CAUSE_RESULT;
}
/* Are the nodes of the operation given, and computed by no statement? Of given values that many use the first
 * cause is remembered. */
static inline bool ir_cause_is_given(ir_op op) { return ir_ops[op].cls == IR_CLASS_LEAF && op != IR_OP_IOTA; }
/* A node that a graph with causes has already, of which ir_cause_is_part and that is not given, is made once
 * more, for the current one. */
void ir_cause_again(ir_graph *graph, ir_ref node);

/* Nodes that are made from now on are parts of the next statement. Its number; 0: the graph has no causes.
 */
static inline uint32_t ir_cause_next(ir_graph *g) {
  return g->causes ? g->causes->current = ++g->causes->statements : 0;
}
/* The latest statement is none: nothing was made for it, and its number is given again. */
static inline void ir_cause_withdraw(ir_graph *g, uint32_t statement) {
  if (g->causes && statement) g->causes->statements = statement - 1, g->causes->current = 0;
}
/* The same of a statement that may have made something, where it is the latest: what was made last is of an
 * earlier one. */
static inline void ir_cause_unused(ir_graph *g, uint32_t statement) {
  if (!g->causes || g->causes->statements != statement) return;
  ir_cause last = *ir_cause_at(g, g->count - 1);
  if (last & IR_CAUSE_SET || !last || (last & ~IR_CAUSE_RESULT) >= statement) return;
  g->causes->statements--;
  g->causes->current = 0;
}
/* Nodes that are made from now on are parts of this statement; 0: of none. */
static inline void ir_cause_resume(ir_graph *g, uint32_t statement) {
  if (g->causes) g->causes->current = statement;
}
/* `made`, or each value of a TUPLE, is a result of the statement. */
void ir_cause_results(ir_graph *graph, ir_ref made, uint32_t statement);

/* Nodes that are made from now on are made in place of `node`. Returns what the current cause was. */
ir_cause ir_cause_enter(ir_graph *graph, ir_ref node);
/* `made` (0: nothing) has taken the place of `node`, and nodes are made for `before` again. Returns made. */
ir_ref ir_cause_leave(ir_graph *graph, ir_cause before, ir_ref node, ir_ref made);
/* Nodes that are made until ir_cause_leave are for the derivative of `node` that the current statement asks
 * for. */
ir_cause ir_cause_enter_derivative(ir_graph *graph, ir_ref node);

/* A statement of a cause. */
typedef struct ir_cause_item {
  uint32_t statement;
  uint32_t by; /* the statement that asked for this derivative of it; 0: it is itself */
  bool result;
} ir_cause_item;
typedef struct ir_cause_items {
  ir_cause_item *list; /* by statement, then by */
  size_t count, cap;
} ir_cause_items;
/* Appends the statements of the cause that the list does not have yet. False when memory is short. */
bool ir_cause_list(const ir_causes *causes, ir_cause cause, ir_cause_items *out);
/* Adds a statement at its place, unless the list has it. False when memory is short. */
bool ir_cause_add(const ir_mem *mem, ir_cause_item item, ir_cause_items *out);
void ir_cause_items_free(const ir_mem *mem, ir_cause_items *items);

#endif
