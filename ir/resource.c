#include "ir/resource.h"

#include <stdlib.h>
#include <string.h>

bool ir_resource_origin(const ir_graph *g, ir_ref resource, ir_origin *out) {
  const ir_node *n = ir_get(g, resource);
  const char *text = ir_name_text(g, n->arg), *end = text + ir_name_length(g, n->arg);
  const char *serial = memchr(text, '/', (size_t)(end - text));
  const char *slash = serial ? memchr(serial + 1, '/', (size_t)(end - serial - 1)) : NULL;
  const char *base = slash && end - slash >= 2 ? slash + 2 : NULL;
  const char *file = base ? memchr(base, 0, (size_t)(end - base)) : NULL;
  const char *name = file ? memchr(file + 1, 0, (size_t)(end - file - 1)) : NULL;
  if (!name) return false;
  *out = (ir_origin){.base = base,
                     .base_length = (size_t)(file - base),
                     .file = file + 1,
                     .file_length = (size_t)(name - file - 1),
                     .name = name + 1,
                     .name_length = (size_t)(end - name - 1),
                     .raw = slash[1] == 'r',
                     .bytes = slash[1] == 'b'};
  if (!out->bytes) return true;
  const char *after = memchr(out->name, 0, out->name_length);
  out->offset = strtoll(out->name, NULL, 10);
  out->name = after ? after + 1 : end;
  out->name_length = (size_t)(end - out->name);
  return true;
}

int64_t ir_resource_name(ir_graph *g, const char *constant, const ir_origin *origin) {
  ir_text text;
  ir_text_init(&text, g->mem);
  ir_text_str(&text, constant);
  ir_text_str(&text, "/");
  ir_text_int(&text, g->next_serial++);
  if (origin) {
    ir_text_str(&text, origin->bytes ? "/b" : origin->raw ? "/r" : "/f");
    ir_text_add(&text, origin->base, origin->base_length);
    ir_text_add(&text, "", 1);
    ir_text_add(&text, origin->file, origin->file_length);
    ir_text_add(&text, "", 1);
    if (origin->bytes) {
      ir_text_int(&text, origin->offset);
      ir_text_add(&text, "", 1);
    }
    if (origin->name) ir_text_add(&text, origin->name, origin->name_length);
  }
  int64_t id = text.failed ? -1 : ir_name(g, text.data, text.len);
  ir_text_free(&text);
  return id;
}
