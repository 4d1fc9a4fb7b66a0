/* Parsing of meshes and of specs in graphs. */
#include "ir/parse/impl.h"
#include "ir/mesh/sharding.h"

#include <string.h>

bool ir_parse_mesh(ir_parser *p) {
  ir_graph *g = p->graph;
  ir_token name;
  ir_mesh mesh;
  ir_lex_next(&p->lex);
  if (!ir_parse_name(p, '@', &name, "missing name of a mesh")) return false;
  if (name.length >= IR_MESH_NAME || name.quoted)
    return ir_lex_fail_at(&p->lex, name.line, name.column,
                          "wrong name of a mesh, found '%.*s', expected a word of at most 31 bytes",
                          (int)(name.length > 40 ? 40 : name.length), name.text);
  ir_mesh_init(&mesh, g->mem);
  memcpy(mesh.name, name.text, name.length);
  bool good = ir_mesh_read(&p->lex, &mesh);
  const ir_mesh *known = ir_graph_mesh(g);
  if (good && known && (!ir_mesh_equal(known, &mesh) || strcmp(known->name, mesh.name)))
    good =
        ir_lex_fail_at(&p->lex, name.line, name.column,
                       "a second mesh, found '@%s', expected '@%s' again: all graphs of a file have one mesh",
                       mesh.name, known->name);
  if (good && !ir_graph_set_mesh(g, &mesh)) good = ir_parse_memory(p);
  ir_mesh_free(&mesh);
  return good &&
         (p->lex.token.first || ir_lex_fail(&p->lex, "unexpected text after a mesh", "the end of the line"));
}

static bool read_spec(ir_parser *p, ir_spec *out) {
  const ir_mesh *mesh = ir_graph_mesh(p->graph);
  if (!mesh) return ir_lex_fail(&p->lex, "no mesh", "a mesh above the graph, as in mesh @m [x=2,y=4]");
  return ir_spec_read(&p->lex, mesh, out);
}

bool ir_parse_spec_value(ir_parser *p, ir_attr *out) {
  ir_spec spec;
  ir_text text;
  *out =
      (ir_attr){.line = p->lex.token.line, .column = p->lex.token.column, .name = "", .kind = IR_ATTR_WORD};
  if (!read_spec(p, &spec)) return false;
  ir_text_init(&text, p->graph->mem);
  ir_spec_print(ir_graph_mesh(p->graph), &spec, &text);
  char *copy = text.failed ? NULL : ir_parse_alloc(p, text.len + 1);
  if (copy) memcpy(copy, text.data, text.len + 1);
  out->word = copy, out->word_length = text.len;
  ir_text_free(&text);
  return copy || ir_parse_memory(p);
}

/* The same spec with as many entries as the value has axes. */
static bool refuse_rank(ir_parser *p, const ir_token *at, const ir_spec *spec, uint32_t rank) {
  const ir_mesh *mesh = ir_graph_mesh(p->graph);
  ir_spec fitting = *spec;
  ir_text text;
  ir_text_init(&text, p->graph->mem);
  for (uint32_t d = rank; d < spec->rank; d++) ir_spec_clear(&fitting, d);
  fitting.rank = (uint8_t)rank;
  ir_spec_print(mesh, &fitting, &text);
  ir_lex_fail_at(&p->lex, at->line, at->column,
                 "wrong spec, found %u dimension%s, expected the %u of the value: an entry for each axis, - "
                 "where it is whole, as in @%s%s",
                 (unsigned)spec->rank, spec->rank == 1 ? "" : "s", (unsigned)rank, mesh->name,
                 ir_text_get(&text));
  ir_text_free(&text);
  return false;
}

bool ir_parse_spec_of(ir_parser *p, ir_ref value) {
  ir_graph *g = p->graph;
  ir_token name, at = p->lex.token;
  ir_spec spec;
  if (!ir_lex_is(&p->lex, '@') || (p->lex.by_line && at.first)) return true;
  if (!ir_parse_name(p, '@', &name, "missing mesh of a spec")) return false;
  const ir_mesh *mesh = ir_graph_mesh(g);
  if (mesh && (strlen(mesh->name) != name.length || memcmp(mesh->name, name.text, name.length)))
    return ir_lex_fail_at(&p->lex, at.line, at.column, "unknown mesh, found '@%.*s', expected '@%s'",
                          (int)(name.length > 40 ? 40 : name.length), name.text, mesh->name);
  if (!read_spec(p, &spec)) return false;
  if (spec.rank != ir_rank(g, value)) return refuse_rank(p, &at, &spec, ir_rank(g, value));
  const ir_spec *known = ir_spec_of(g, value);
  if (known && !ir_spec_equal(known, &spec))
    return ir_lex_fail_at(
        &p->lex, at.line, at.column,
        "a second spec of a value, found another than before, expected the same; shard divides it anew");
  return ir_set_spec(g, value, &spec) || ir_parse_memory(p);
}
