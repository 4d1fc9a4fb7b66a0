/* Chains of views as nodes: TUPLE(view, ...), the view next to the buffer first, each of them
 * TUPLE(masked, offset, shape..., strides..., begins..., ends...). So a chain is a value of its graph like
 * any other: it lives as long as the graph, and equal chains are the same node. */
#ifndef VIEWFOLD_FRONTEND_VIEWS_HANDLE_H
#define VIEWFOLD_FRONTEND_VIEWS_HANDLE_H

#include "frontend/api/api.h"
#include "frontend/views/view.h"

/* The views of a chain. False after failing; free in any case. */
bool fe_view_open(ir_graph *g, uint32_t id, pass_view_chain *out);
/* The chain as a node; 0 after failing. */
ir_ref fe_view_node(ir_graph *g, const pass_view_chain *chain);

/* The node of a chain as a value, and back: the same graph, id and epoch. Nothing is checked. */
static inline vf_value fe_view_value(vf_view v) { return (vf_value){v.graph, v.id, v.epoch}; }
static inline vf_view fe_view_of_value(vf_value v) { return (vf_view){v.graph, v.id, v.epoch}; }

#endif
