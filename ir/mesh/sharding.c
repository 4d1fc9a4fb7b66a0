/* The side table of specs. */
#include "sharding.h"

#include <string.h>

const ir_mesh *ir_graph_mesh(const ir_graph *g) { return g->sharding ? &g->sharding->mesh : NULL; }

bool ir_graph_set_mesh(ir_graph *g, const ir_mesh *mesh) {
  ir_sharding *s = g->sharding;
  ir_mesh copy;
  if (!s) {
    if (!(s = ir_alloc(g->mem, sizeof *s))) return false;
    *s = (ir_sharding){0};
    ir_mesh_init(&s->mesh, g->mem);
    g->sharding = s;
  }
  if (!ir_mesh_copy(&copy, mesh, g->mem)) return false;
  ir_mesh_free(&s->mesh);
  s->mesh = copy;
  return true;
}

const ir_spec *ir_spec_of(const ir_graph *g, ir_ref ref) {
  const ir_sharding *s = g->sharding;
  return s && ref < s->of_cap && s->of[ref] ? &s->specs[s->of[ref] - 1] : NULL;
}

bool ir_set_spec(ir_graph *g, ir_ref ref, const ir_spec *spec) {
  ir_sharding *s = g->sharding;
  size_t known = s->of_cap, number = 0;
  if (!IR_RESERVE(g->mem, s->of, s->of_cap, (size_t)ref + 1)) return false;
  memset(s->of + known, 0, (s->of_cap - known) * sizeof *s->of);
  while (number < s->spec_count && !ir_spec_equal(&s->specs[number], spec)) number++;
  if (number == s->spec_count) {
    if (!IR_RESERVE(g->mem, s->specs, s->spec_cap, s->spec_count + 1)) return false;
    s->specs[s->spec_count++] = *spec;
  }
  s->of[ref] = (uint32_t)number + 1;
  return true;
}

bool ir_shard_spec(const ir_graph *g, ir_ref node, ir_spec *out) {
  int64_t name = ir_get(g, node)->arg;
  ir_error none = {0};
  return g->sharding &&
         ir_spec_parse(&g->sharding->mesh, ir_name_text(g, name), ir_name_length(g, name), out, &none);
}

bool ir_sharding_copy(ir_graph *dst, const ir_graph *src, const ir_ref *map, size_t count) {
  const ir_sharding *s = src->sharding;
  if (!s) return true;
  if (!ir_graph_set_mesh(dst, &s->mesh)) return false;
  for (size_t i = 0; i < count && i < s->of_cap; i++)
    if (s->of[i] && map[i] && !ir_set_spec(dst, map[i], &s->specs[s->of[i] - 1])) return false;
  return true;
}

void ir_sharding_drop(ir_graph *g, ir_ref ref) {
  if (g->sharding && ref < g->sharding->of_cap) g->sharding->of[ref] = 0;
}

void ir_sharding_forget(ir_graph *g) {
  ir_sharding *s = g->sharding;
  if (!s) return;
  ir_mesh_free(&s->mesh);
  ir_free(g->mem, s->specs, s->spec_cap * sizeof *s->specs);
  ir_free(g->mem, s->of, s->of_cap * sizeof *s->of);
  ir_free(g->mem, s, sizeof *s);
  g->sharding = NULL;
}
