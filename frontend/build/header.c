/* The header of an object: what a caller has to give, for each array. */
#include <ctype.h>
#include <string.h>

#include "frontend/build/build.h"
#include "runtime/cpu/target.h"

/* Words of C17 and C++17 that a lower-case name may be, and what the header's own constants are called. */
static const char *const taken[] = {
    "alignas",     "alignof",  "and",      "and_eq",    "asm",        "auto",         "bitand",
    "bitor",       "bool",     "break",    "case",      "catch",      "char",         "char16_t",
    "char32_t",    "class",    "compl",    "const",     "const_cast", "constexpr",    "continue",
    "decltype",    "default",  "delete",   "do",        "double",     "dynamic_cast", "else",
    "enum",        "explicit", "export",   "extern",    "false",      "float",        "for",
    "friend",      "goto",     "if",       "inline",    "int",        "long",         "mutable",
    "namespace",   "new",      "noexcept", "not",       "not_eq",     "nullptr",      "operator",
    "or",          "or_eq",    "private",  "protected", "public",     "register",     "reinterpret_cast",
    "restrict",    "return",   "short",    "signed",    "sizeof",     "static",       "static_assert",
    "static_cast", "struct",   "switch",   "template",  "this",       "thread_local", "throw",
    "true",        "try",      "typedef",  "typeid",    "typename",   "union",        "unsigned",
    "using",       "virtual",  "void",     "volatile",  "wchar_t",    "while",        "xor",
    "xor_eq",      "ARENA",    "WORKER",   "WEIGHT",    "linux",      "unix",         "run",
    "shapes"};

void fe_identifier(const char *name, ir_text *out) {
  size_t start = out->len;
  if (isdigit((unsigned char)*name) || !*name) ir_text_str(out, "v");
  for (const char *at = name; *at; at++)
    ir_textf(out, "%c", isalnum((unsigned char)*at) || *at == '_' ? *at : '_');
  for (size_t i = 0; i < sizeof taken / sizeof *taken && !out->failed; i++)
    if (!strcmp(ir_text_get(out) + start, taken[i])) {
      ir_text_str(out, "_");
      break;
    }
}

bool fe_is_identifier(const char *name) {
  if (!isalpha((unsigned char)*name) && *name != '_') return false;
  for (; *name; name++)
    if (!isalnum((unsigned char)*name) && *name != '_') return false;
  return true;
}

static const char *element_of(ir_dtype dtype) {
  static const char *const types[] = {
#define DTYPE(name, text, bytes, kind, npy, ctype) [IR_##name] = #ctype,
#include "ir/dtype.def"
#undef DTYPE
  };
  return types[dtype];
}

/* The number of elements, if it is known. */
static bool elements_of(const ir_graph *g, ir_ref ref, int64_t *out) {
  ir_ref sizes[2 * IR_MAX_RANK];
  uint32_t rank = ir_physical(g, ref, sizes);
  *out = 1;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size;
    if (!ir_is_const(g, sizes[i], &size)) return false;
    *out *= size;
  }
  return true;
}

static void put_head(const fe_header *h, ir_text *out) {
  ir_textf(
      out,
      "/* Graph @%s as an object file for %s%s%s, made by viewfold " VIEWFOLD_VERSION ".\n"
      " *\n"
      " * The object refers to nothing outside itself, allocates nothing and has no state%s: any number of\n"
      " * threads may run it at once, each with an arena and outputs of its own. */\n",
      h->graph, h->target->triple, h->several ? ": " : "", h->several ? h->several : "",
      h->several ? "\n * but for which of these the processor is" : "");
  ir_textf(out, "#ifndef %s_VIEWFOLD_H\n#define %s_VIEWFOLD_H\n\n#include <stdint.h>\n\n", h->name, h->name);
  ir_text_str(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
}

static void put_member(const fe_header *h, const fe_member *m, ir_text *out) {
  ir_dtype dtype = ir_dtype_of(h->g, m->port->ref);
  bool writes = m->is_output || m->is_reference;
  ir_textf(out, "  %s%s *%s; /* ", writes ? "" : "const ", element_of(dtype), ir_text_get(&m->name));
  ir_text_str(out, m->is_output ? "output " : m->is_reference ? "input and output " : "input ");
  ir_print_type(h->g, m->port->ref, out);
  if (!m->is_used) ir_text_str(out, ", which nothing reads: may be NULL");
  else if (m->is_reference) ir_text_str(out, ", changed in place");
  if (dtype == IR_F16 || dtype == IR_BF16) ir_text_str(out, "; the bits of each element");
  if (dtype == IR_BOOL) ir_text_str(out, "; 0 or 1 each");
  ir_text_str(out, " */\n");
}

static void put_arrays(const fe_header *h, ir_text *out) {
  ir_text_str(
      out,
      "/* The arrays of a run: contiguous, row-major, aligned as their elements are. An output overlaps no "
      "other\n * array. */\n");
  ir_textf(out, "typedef struct %s_arrays {\n", h->name);
  for (size_t i = 0; i < h->member_count; i++) put_member(h, &h->members[i], out);
  ir_textf(out, "} %s_arrays;\n\n", h->name);
}

static void put_sizes(const fe_header *h, ir_text *out) {
  if (!h->variable_count) return;
  ir_textf(out, "/* The sizes of a run. */\ntypedef struct %s_sizes {\n", h->name);
  for (size_t i = 0; i < h->variable_count; i++) {
    const cg_variable *v = &h->bounds[i];
    ir_textf(out, "  int64_t %s; /* ", ir_text_get(&h->variables[i]));
    if (v->lo == INT64_MIN) ir_text_str(out, "which nothing reads");
    else ir_textf(out, "%lld to %lld", (long long)v->lo, (long long)v->hi);
    if (v->divisor > 1) ir_textf(out, ", a multiple of %lld", (long long)v->divisor);
    ir_text_str(out, " */\n");
  }
  ir_textf(out, "} %s_sizes;\n\n", h->name);
}

static void put_constants(const fe_header *h, const fe_member *m, ir_text *out) {
  ir_ref sizes[2 * IR_MAX_RANK];
  ir_dtype dtype = ir_dtype_of(h->g, m->port->ref);
  uint32_t rank = ir_physical(h->g, m->port->ref, sizes);
  const char *name = ir_text_get(&m->name);
  int64_t elements, bytes = ir_dtypes[dtype].bytes;
  ir_textf(out, "#define %s_%s_DTYPE \"%s\"\n", h->name, name, ir_dtypes[dtype].name);
  ir_textf(out, "#define %s_%s_ALIGN %lld\n", h->name, name, (long long)bytes);
  ir_textf(out, "#define %s_%s_RANK  %u\n", h->name, name, rank);
  if (!elements_of(h->g, m->port->ref, &elements)) return;
  for (uint32_t i = 0; i < rank; i++) {
    int64_t size = 0;
    ir_is_const(h->g, sizes[i], &size);
    ir_textf(out, "#define %s_%s_SIZE%u %lld\n", h->name, name, i, (long long)size);
  }
  ir_textf(out, "#define %s_%s_BYTES %lld\n", h->name, name, (long long)(elements * bytes));
}

static bool put_dims(const fe_header *h, ir_text *out) {
  ir_ref sizes[2 * IR_MAX_RANK];
  bool any = false;
  for (size_t i = 0; i < h->member_count; i++) {
    const fe_member *m = &h->members[i];
    uint32_t rank = m->is_output ? ir_physical(h->g, m->port->ref, sizes) : 0;
    if (!rank) continue;
    if (!any)
      ir_textf(out, "/* The sizes of the axes of the outputs. */\ntypedef struct %s_dims {\n", h->name);
    ir_textf(out, "  int64_t %s[%u];\n", ir_text_get(&m->name), rank);
    any = true;
  }
  if (any) ir_textf(out, "} %s_dims;\n\n", h->name);
  return any;
}

static void put_sized_functions(const fe_header *h, ir_text *out) {
  bool dims = put_dims(h, out);
  ir_textf(
      out,
      "/* Bytes of the arena of a run of these sizes; -1 where a size is out of its bounds, or sizes are too "
      "large. */\n"
      "int64_t %s_arena_bytes(const %s_sizes *sizes);\n\n",
      h->name, h->name);
  if (!dims) return;
  ir_textf(out,
           "/* Writes the sizes of the outputs. Returns as %s_run does. */\n"
           "int %s_shapes(const %s_sizes *sizes, %s_dims *dims);\n\n",
           h->name, h->name, h->name, h->name);
}

static const char host_text[] = "/* Threads of the caller, by which loops are shared. parallel_for calls "
                                "body(argument, worker, begin, end) for "
                                "parts\n"
                                " * that together are 0 to count, in any order and at the same time, each of "
                                "at least `grain` iterations but "
                                "for the\n"
                                " * last, and returns when all have returned. Calls that are in progress "
                                "have different workers, from 0 on. "
                                "NULL: one\n"
                                " * thread. Results have the same bits in each case. */\n";
static const char call_text[] = "/* An array of a custom operation, contiguous and row-major; data of an "
                                "operand is not to be written to. */\n";

static void put_calls(const fe_header *h, ir_text *out) {
  const char *name;
  for (size_t i = 0; (name = rt_object_call(h->program, i)); i++) {
    ir_text_str(out, "  int (*call_");
    fe_identifier(name, out);
    ir_textf(out,
             ")(void *user, const struct %s_array *results, const struct %s_array *operands,\n"
             "             const void *attributes); /* operation %s: 0, or it has failed. attributes: 8 "
             "bytes each, an "
             "int64_t or a double */\n",
             h->name, h->name, name);
  }
}

static void put_host(const fe_header *h, ir_text *out) {
  if (rt_object_call(h->program, 0)) {
    ir_text_str(out, call_text);
    ir_textf(out,
             "typedef struct %s_array {\n  void *data;\n  const int64_t *dims;\n  int64_t elements;\n"
             "  uint32_t rank, dtype; /* dtype: a vf_dtype of viewfold.h; f32 is %d, f64 %d, i32 %d */\n} "
             "%s_array;\n\n",
             h->name, IR_F32, IR_F64, IR_I32, h->name);
  }
  ir_text_str(out, host_text);
  ir_textf(out,
           "typedef struct %s_host {\n"
           "  void *user; /* the first argument of the functions */\n"
           "  void (*parallel_for)(void *user, void (*body)(void *argument, int64_t worker, int64_t begin, "
           "int64_t "
           "end),\n"
           "                       void *argument, int64_t count, int64_t grain);\n",
           h->name);
  put_calls(h, out);
  ir_textf(out,
           "} %s_host;\n\n"
           "/* Bytes that the arena has to have more for each worker but worker 0. */\n"
           "#define %s_WORKER_BYTES %lld\n\n",
           h->name, h->name, (long long)h->worker_bytes);
}

static void put_run(const fe_header *h, ir_text *out) {
  if (h->threads) put_host(h, out);
  if (h->weight_bytes >= 0)
    ir_textf(out,
             "/* Bytes of the file of weights, which is to be in memory at a multiple of 64, as a mapped "
             "file is. */\n"
             "#define %s_WEIGHT_BYTES %lld\n\n",
             h->name, (long long)h->weight_bytes);
  if (h->arena_bytes >= 0)
    ir_textf(out, "/* Bytes of the arena%s. */\n#define %s_ARENA_BYTES %lld\n\n",
             h->arena_bytes ? "" : ": none, it may be NULL", h->name, (long long)h->arena_bytes);
  ir_text_str(
      out,
      "/* Runs the graph. The arena is memory for intermediates, at any address, of which nothing is left "
      "after the\n"
      " * run. Returns 0; 1 where a size is out of its bounds, or sizes are too large (nothing was "
      "written); 7 where an\n"
      " * index is out of its axis, or 6 where a custom operation failed (what the outputs hold is "
      "unspecified)");
  ir_text_str(
      out,
      h->several
          ? ";\n * 4 where the processor has the features of none of the targets (nothing was written). */\n"
          : ". */\n");
  ir_textf(out, "int %s_run(const %s_arrays *arrays, ", h->name, h->name);
  if (h->variable_count) ir_textf(out, "const %s_sizes *sizes, ", h->name);
  ir_text_str(out, "void *arena");
  if (h->weight_bytes >= 0) ir_text_str(out, ", const void *weights");
  if (h->threads) ir_textf(out, ", const %s_host *host", h->name);
  ir_text_str(out, ");\n\n");
}

void fe_header_put(const fe_header *h, ir_text *out) {
  put_head(h, out);
  put_arrays(h, out);
  put_sizes(h, out);
  put_run(h, out);
  if (h->variable_count) put_sized_functions(h, out);
  ir_text_str(
      out, "/* Of each array: dtype, bytes at whose multiples it begins, number of axes; their sizes and all "
           "bytes, unless\n * they depend on sizes. */\n");
  for (size_t i = 0; i < h->member_count; i++) put_constants(h, &h->members[i], out);
  ir_text_str(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
