#include "frontend/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/file_error.h"
#include "passes/index.h"
#include "passes/ops/ops.h"

enum { FIRST_PIECE = 16384, READ_MOST = 1 << 30 };

/* the builder */

static ir_ref canonical(void *user, ir_graph *g, ir_op op, const ir_ref *src, uint32_t n) {
  return pass_simplify(g, ir_expr_raw(user, g, op, src, n));
}

static ir_ref apply(void *user, ir_graph *g, const char *name, size_t length, const ir_ref *operands,
                    size_t operand_count, const ir_attr *attrs, size_t attr_count, int line, int column) {
  (void)user, (void)line, (void)column;
  return op_apply(g, name, length, operands, operand_count, attrs, attr_count);
}

const ir_builder fe_builder = {.expr = canonical, .apply = apply};

/* The parser declares parameters without asking what a tensor may be. */
static bool check_params(ir_graph *g, const char *name, const ir_module *module) {
  for (size_t i = 0; i < module->count; i++) {
    const ir_parsed_graph *block = &module->graphs[i];
    for (size_t k = 0; k < block->param_count && block->kind == IR_BLOCK_GRAPH; k++) {
      const ir_named *param = &block->params[k];
      ir_ref dims[2 * IR_MAX_RANK];
      uint32_t lead = ir_batch_rank(g, param->ref);
      ir_physical(g, param->ref, dims);
      if (op_input_batched(g, param->name, param->length, ir_dtype_of(g, param->ref), dims, lead, dims + lead,
                           ir_rank(g, param->ref)))
        continue;
      char reason[sizeof g->error->text];
      ir_status status = g->error->status;
      memcpy(reason, g->error->text, sizeof reason);
      ir_error_clear(g->error);
      fe_file_fail(g->error, status, name, "parameter %%%.60s of @%.60s: %.600s", param->name, block->name,
                   reason);
      return false;
    }
  }
  return true;
}

ir_status fe_parse_graphs(ir_graph *g, const char *name, const char *text, size_t length, ir_module *module) {
  if (ir_parse_module(g, &fe_builder, name, text, length, module) == IR_OK && !check_params(g, name, module))
    ir_module_free(module);
  return g->error->status;
}

/* files */

typedef struct contents {
  const ir_mem *mem;
  char *bytes;
  size_t size, cap;
} contents;

static bool read_all(int fd, const char *name, contents *c, ir_error *error) {
  struct stat status;
  size_t guess = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0
                     ? (size_t)status.st_size + 1
                     : FIRST_PIECE;
  for (;;) {
    if (!IR_RESERVE(c->mem, c->bytes, c->cap, c->size == 0 ? guess : c->size + 1)) {
      fe_file_fail(error, IR_ERR_MEMORY, name, "not enough memory for the file");
      return false;
    }
    size_t room = c->cap - c->size;
    ssize_t got = read(fd, c->bytes + c->size, room < READ_MOST ? room : READ_MOST);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) {
      fe_file_fail(error, IR_ERR_IO, name, "cannot read the file: %s", strerror(errno));
      return false;
    }
    if (got > 0) c->size += (size_t)got;
  }
}

ir_status fe_read_graphs(ir_graph *g, const char *path, ir_module *module) {
  bool standard = strcmp(path, "-") == 0;
  const char *name = standard ? "<stdin>" : path;
  contents c = {.mem = g->mem};
  *module = (ir_module){.mem = g->mem};
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return fe_file_fail(g->error, IR_ERR_IO, name, "cannot open the file: %s", strerror(errno));
  if (read_all(fd, name, &c, g->error)) fe_parse_graphs(g, name, c.bytes, c.size, module);
  if (!standard) close(fd);
  ir_free(c.mem, c.bytes, c.cap);
  return g->error->status;
}
