/* Internal to emission: nodes that are ready to be emitted are listed (emission_order.c), and emitted in an
 * order that suits processors (listed.c). */
#ifndef VIEWFOLD_CODEGEN_EMIT_LISTED_H
#define VIEWFOLD_CODEGEN_EMIT_LISTED_H

#include "codegen/emit/emission_order.h"

/* emission_order.c */
bool cg_is_unroll(const cg_order *o, int64_t loop); /* are its iterations unrolled values? */
/* Visits what a node is emitted from; body: of a loop, what its body needs as well. */
void cg_visit_operands(cg_order *o, ir_ref ref, bool body);
/* Appends the visited nodes and their operands to the list, those to be emitted, sources first. */
void cg_list_visited(cg_order *o, bool reads);
void cg_emit_listed(cg_order *o,
                    size_t first); /* emits the list from `first` on, and removes it from there */

/* listed.c: emits the list from `first` on, in the order that suits it, and removes it from there. reads:
 * there may be loads among it. */
void cg_emit_in_order(cg_order *o, size_t first, bool reads);

#endif
