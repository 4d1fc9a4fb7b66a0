/* The mesh of a graph, and how its inputs, constants and results are divided among the devices. */
#include "frontend/cli/show/show.h"

#include <string.h>

#include "frontend/cli/cli.h"
#include "frontend/report/mesh/divided.h"
#include "ir/print/print.h"

enum { DRAWN = 64 }; /* devices: DEVICES_DRAWN of show_mesh.js */

static json_t *taken(show *s, ir_text *text) {
  json_t *made = show_text(ir_text_get(text), text->len);
  s->failed |= text->failed;
  ir_text_free(text);
  return made;
}

/* [[[axis, m, k], ..], ..]: the sub-axes of each dimension, the major first. */
static json_t *divisions(show *s, const ir_spec *spec) {
  json_t *made = json_array();
  for (uint32_t d = 0; d < spec->rank; d++) {
    uint32_t count;
    const ir_subaxis *axes = ir_spec_axes(spec, d, &count);
    json_t *one = json_array();
    for (uint32_t i = 0; i < count; i++)
      show_add(s, one, json_pack("[iii]", (int)axes[i].axis, (int)axes[i].pre, (int)axes[i].size));
    show_add(s, made, one);
  }
  return made;
}

typedef struct rows {
  show *s;
  const fe_divided *d;
  const ir_parsed_graph *block;
  json_t *list;
} rows;

/* {"name","kind","type","spec": text; "shape": expressions; "divided": divisions; "pending": text or nothing}
 */
static void add_row(rows *r, const char *kind, ir_text *name, ir_ref node, const ir_spec *spec) {
  const ir_graph *g = &r->d->g;
  ir_spec whole;
  ir_text text;
  json_t *one = json_object(), *shape = json_array();
  if (!spec) ir_spec_init(&whole, ir_rank(g, node)), spec = &whole;
  show_set(r->s, one, "name", taken(r->s, name));
  show_set(r->s, one, "kind", json_string(kind));
  ir_text_init(&text, g->mem);
  ir_print_type(g, node, &text);
  show_set(r->s, one, "type", taken(r->s, &text));
  ir_text_init(&text, g->mem);
  ir_spec_print(ir_graph_mesh(g), spec, &text);
  show_set(r->s, one, "spec", taken(r->s, &text));
  for (uint32_t k = 0; k < ir_rank(g, node); k++)
    show_add(r->s, shape, show_expression(r->s, g, ir_dim(g, node, k)));
  show_set(r->s, one, "shape", shape);
  show_set(r->s, one, "divided", divisions(r->s, spec));
  show_set(r->s, one, "pending", json_boolean(ir_spec_count(spec, IR_PLACE_PENDING) > 0));
  show_add(r->s, r->list, one);
}

static void add_named(rows *r, const char *kind, const ir_named *named, const shard_value *v) {
  ir_text name;
  ir_text_init(&name, r->d->g.mem);
  ir_text_str(&name, "%");
  ir_lex_print_name(&name, named->name, named->length);
  add_row(r, kind, &name, v->global, &v->spec);
}

static void add_constants(rows *r) {
  const ir_graph *g = &r->d->g;
  ir_ref *nodes = NULL;
  size_t count = 0, cap = 0;
  if (ir_reachable_inside(g, r->d->refs, 1, &nodes, &count, &cap) != IR_OK) r->s->failed = true;
  for (size_t i = 0; i < count; i++) {
    ir_op op = ir_op_of(g, nodes[i]);
    if (op != IR_OP_RESOURCE && op != IR_OP_DATA) continue;
    ir_text name;
    ir_text_init(&name, g->mem);
    fe_divided_name(r->d, r->block, nodes[i], &name);
    add_row(r, "constant", &name, nodes[i], ir_spec_of(g, nodes[i]));
  }
  ir_free(g->mem, nodes, cap * sizeof *nodes);
}

static json_t *devices_of(show *s, const ir_mesh *mesh) {
  json_t *made = json_array();
  for (uint32_t i = 0; mesh->devices && i < mesh->device_count; i++) {
    const ir_mesh_device *d = &mesh->devices[i];
    show_add(s, made, d->rank ? json_sprintf("%s@%u", d->name, (unsigned)d->rank) : json_string(d->name));
  }
  return made;
}

/* Name and size, and the weights if it has some. */
static json_t *axis_of(show *s, const ir_mesh_axis *axis) {
  json_t *made = json_pack("[si]", axis->name, (int)axis->size),
         *weights = axis->before ? json_array() : NULL;
  for (int32_t c = 0; c < axis->size && weights; c++)
    show_add(s, weights, json_integer(axis->before[c + 1] - axis->before[c]));
  if (weights) show_add(s, made, weights);
  return made;
}

/* The host of each device that is drawn; one for all of them where there is one process. */
static json_t *hosts_of(show *s, const ir_mesh *mesh) {
  json_t *made = json_array();
  if (s->hosts.count == 1) show_add(s, made, show_text(s->hosts.of->name, strlen(s->hosts.of->name)));
  for (uint32_t i = 0; s->hosts.count > 1 && i < mesh->device_count && i < DRAWN; i++) {
    const fe_host *host = fe_host_of(&s->hosts, mesh, i);
    show_add(s, made, host ? show_text(host->name, strlen(host->name)) : json_string("?"));
  }
  return made;
}

json_t *show_mesh(show *s, const ir_parsed_graph *block) {
  const ir_mesh *mesh = ir_graph_mesh(&s->s.g);
  if (!mesh) return NULL;
  ir_error error = {0}, *noted = s->s.g.error;
  fe_divided d;
  json_t *made = json_object(), *axes = json_array();
  rows r = {s, &d, block, json_array()};
  for (uint32_t i = 0; i < mesh->axis_count; i++) show_add(s, axes, axis_of(s, &mesh->axes[i]));
  show_set(s, made, "axes", axes);
  show_set(s, made, "count", json_integer(mesh->device_count));
  show_set(s, made, "devices", devices_of(s, mesh));
  show_set(s, made, "hosts", hosts_of(s, mesh));
  s->s.g.error = &error;
  if (fe_divided_make(&d, &s->s.g, block, SHARD_ALL, NULL, &error)) {
    for (size_t i = 0; i < block->param_count; i++)
      add_named(&r, "input", &block->params[i], &d.program.inputs[i]);
    add_constants(&r);
    for (size_t i = 0; i < block->result_count; i++)
      add_named(&r, "result", &block->results[i], &d.program.results[i]);
  } else {
    s->status = cli_failure("show", &error);
    show_set(s, made, "error", show_text(error.text, strlen(error.text)));
  }
  fe_divided_free(&d);
  s->s.g.error = noted;
  show_set(s, made, "values", r.list);
  return made;
}
