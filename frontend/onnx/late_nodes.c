/* Nodes that stand before those whose results they have: against the specification, but converters write such
 * models, and ONNX Runtime sorts and runs them. Such a node waits until the last of its inputs is computed.
 * What the bodies of a node read besides its inputs is not looked at. */
#include "frontend/onnx/import.h"

/* A name that is not computed yet, and a node that waits for it. */
typedef struct waiting {
  onnx_named base;
  size_t node;
} waiting;

bool onnx_waits(onnx_import *m, onnx_late *late, const onnx_scope *scope, const onnx_node_proto *proto,
                size_t node, bool *waits) {
  const wire_bytes *names = proto->inputs.items;
  *waits = false;
  for (size_t i = 0; i < proto->inputs.count; i++) {
    if (!names[i].size || onnx_find(scope, names[i])) continue;
    if (!late->missing) {
      late->missing = wire_alloc(&m->arena, late->nodes * sizeof *late->missing);
      late->ready = wire_alloc(&m->arena, late->nodes * sizeof *late->ready);
      if (!late->missing || !late->ready) return false;
    }
    waiting *w = wire_alloc(&m->arena, sizeof *w);
    if (!w || !onnx_scope_add(&m->arena, &late->names, names[i], &w->base)) return false;
    w->node = node;
    late->waiting += late->missing[node]++ == 0;
    *waits = true;
  }
  return true;
}

void onnx_wake(onnx_late *late, const onnx_node_proto *proto) {
  const wire_bytes *names = proto->outputs.items;
  for (size_t i = 0; late->waiting && i < proto->outputs.count; i++)
    for (onnx_named *item = onnx_scope_find(&late->names, names[i]); item; item = item->next) {
      size_t node = ((waiting *)item)->node;
      if (!wire_equal(item->name, names[i]) || --late->missing[node]) continue;
      late->ready[late->ready_count++] = node;
      late->waiting--;
    }
}

bool onnx_next_late(onnx_late *late, size_t *node) {
  if (late->ready_count) return *node = late->ready[--late->ready_count], true;
  for (*node = 0; late->waiting && *node < late->nodes; ++*node)
    if (late->missing[*node]) return true;
  return false;
}
