/* `viewfold index`: prints chains of views as index expressions. */
#include "frontend/cli/index.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "frontend/cli/cli.h"
#include "frontend/cli/options.h"
#include "frontend/cli/trace.h"
#include "frontend/report/explain.h"
#include "frontend/text/chain.h"
#include "frontend/views/access.h"
#include "frontend/views/textbook.h"
#include "frontend/views/view.h"
#include "passes/fold/fold.h"
#include "passes/index/extract/extract.h"

/* Bytes of an expression. The printer truncates longer ones, so they are an error. */
enum { LONGEST = 1 << 20 };

static const char help_text[] =
    "Usage: viewfold index [--raw | --views | --explain] [--trace-rules] CHAIN\n"
    "       viewfold index --json [--raw] [--trace-rules] < CHAINS.jsonl\n"
    "\n"
    "Prints where each element of a chain of views lies in its buffer, as an expression of the ranges ridx0, "
    "ridx1, ...\n"
    "of the result's axes. `//` and `%` round down. A second line `valid: EXPR` follows when some elements "
    "are padding.\n"
    "\n"
    "  $ viewfold index 'f32[3,2].permute(1,0)'          the transpose of a 3x2 matrix\n"
    "  (ridx0+(ridx1*2))\n"
    "  $ viewfold index 'f32[4].pad((1,2))'              one element before, two after\n"
    "  (ridx0+-1)\n"
    "  valid: ((ridx0>=1)&(ridx0<5))\n"
    "\n"
    "A chain is a dtype, a shape and views:\n"
    "  permute(1,0)            axis i of the result is axis order[i]; also swap_axes(0,1), moveaxis(0,2)\n"
    "  reshape(2,-1)           same elements in row-major order; one size may be -1; also flatten()\n"
    "  expand(4,3)             axes of size 1 are repeated; broadcast_to(2,4,3) also adds leading axes\n"
    "  pad((1,2),(0,0))        one pair (before,after) per axis; value=0, mode=constant|edge|reflect|wrap\n"
    "  shrink((1,5),(0,3))     one half-open pair (begin,end) per axis\n"
    "  flip(0)  stride(2,-1)   reverse axes; keep every step-th element, as Python's [::step]\n"
    "  unsqueeze(0)  squeeze(0)  point(0,2)   add an axis of size 1, drop one, take index 2 of axis 0\n"
    "  gather(0,[2,0,2])       take these indices of axis 0; printed as [2,0,2][ridx0]\n"
    "A size may be a variable with bounds and a divisor: f32[n=4..64:4,32].reshape(n//4,128).\n"
    "dtypes: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64.\n"
    "\n"
    "Options:\n"
    "  --raw    stop after the textbook rules: what folding starts from\n"
    "  --views  print the chain as views V(shape;strides;offset;mask), the one next to the buffer first; "
    "masks are\n"
    "           half-open; each later view addresses the elements of the one before, in row-major order\n"
    "  --explain  say why views did not merge, what masks and divisions remain and why, what they cost, and "
    "over which\n"
    "           loop axes they would go\n"
    "  --json   read one chain per line, "
    "{\"name\":\"t\",\"base\":[3,2],\"ops\":[[\"permute\",[1,0]],[\"reshape\",[3,2]]]},\n"
    "           and print one line each, "
    "{\"name\":\"t\",\"shape\":[3,2],\"index\":\"EXPR\",\"valid\":\"EXPR\"}; a bad line gives\n"
    "           {\"name\":\"t\",\"error\":\"...\"}, and exit status 2 at the end; choices are written (a if "
    "c else b)\n"
    "  --trace-rules  show each rewrite on standard error: its number, the rule or function, before => "
    "after\n"
    "\n"
    "VIEWFOLD_DEBUG=bisect=N refuses every rewrite after the N-th.\n"
    "Exit status: 0, or 2 when a chain is wrong.\n";

bool cli_index_fold(ir_graph *g, ir_ref chain, bool raw, ir_ref *index, ir_ref *valid) {
  if (raw) return pass_access(g, &pass_textbook, chain, index, valid);
  bool folded = pass_has_gather(g, chain) ? pass_access(g, &pass_canonical, chain, index, valid)
                                          : pass_fold_chain(g, chain, index, valid);
  return folded && pass_extract_access(g, index, valid);
}

bool cli_index_print(ir_graph *g, ir_ref expression, bool python, ir_text *out) {
  size_t start = out->len;
  (python ? ir_print_python : ir_print_expr)(g, expression, out);
  if (out->failed) ir_fail(g->error, IR_ERR_MEMORY, "out of memory printing an expression");
  if (out->len - start > LONGEST)
    ir_fail(g->error, IR_ERR_UNSUPPORTED, "the expression is longer than %d bytes, written out", LONGEST);
  return g->error->status == IR_OK;
}

static bool print_access(ir_graph *g, ir_ref chain, bool raw, ir_text *out) {
  ir_ref index, valid;
  if (!cli_index_fold(g, chain, raw, &index, &valid) || !cli_index_print(g, index, false, out)) return false;
  ir_text_str(out, "\n");
  if (ir_is_true(g, valid)) return true;
  ir_text_str(out, "valid: ");
  if (!cli_index_print(g, valid, false, out)) return false;
  ir_text_str(out, "\n");
  return true;
}

static bool print_views(ir_graph *g, ir_ref chain, ir_text *out) {
  pass_view_chain views;
  bool done = pass_view_chain_of(g, chain, &views);
  if (done) pass_view_chain_print(g, &views, out);
  pass_view_chain_free(&views);
  if (out->failed) ir_fail(g->error, IR_ERR_MEMORY, "out of memory printing views");
  return done && !out->failed;
}

static bool print_explanation(ir_graph *g, ir_ref chain, ir_text *out) {
  ir_ref index, valid;
  return cli_index_fold(g, chain, false, &index, &valid) && fe_explain_chain(g, chain, index, valid, out);
}

typedef enum shown { ACCESS, RAW_ACCESS, VIEW_CHAIN, EXPLANATION } shown;

static int one_chain(const char *chain, shown what, const ir_observer *observer) {
  ir_error error = {0};
  ir_graph g;
  ir_text out;
  ir_text_init(&out, &ir_mem_libc);
  bool done = ir_graph_init(&g, &ir_mem_libc, &error) == IR_OK;
  ir_ref x = done ? fe_chain_parse(&g, "<chain>", chain, strlen(chain)) : 0;
  g.observer = observer; /* not earlier: a refused rewrite while parsing would change sizes */
  if (what == VIEW_CHAIN) done = x && print_views(&g, x, &out);
  else if (what == EXPLANATION) done = x && print_explanation(&g, x, &out);
  else done = x && print_access(&g, x, what == RAW_ACCESS, &out);
  if (done) fwrite(out.data, 1, out.len, stdout);
  else
    fprintf(stderr, "%s%s\n", strncmp(error.text, "<chain>:", 8) == 0 ? "" : "viewfold index: ", error.text);
  ir_text_free(&out);
  ir_graph_free(&g);
  return done ? CLI_OK : CLI_BAD_INPUT;
}

int cli_index(int argc, char **argv) {
  const char *chain = NULL, *raw = NULL, *views = NULL, *json = NULL, *explain = NULL, *trace = NULL;
  const cli_option options[] = {{"--raw", NULL, cli_last, &raw},
                                {"--views", NULL, cli_last, &views},
                                {"--json", NULL, cli_last, &json},
                                {"--explain", NULL, cli_last, &explain},
                                {"--trace-rules", NULL, cli_last, &trace}};
  int status =
      cli_read_word(help_text, options, sizeof options / sizeof *options, &chain,
                    "one chain at a time, found '%s' as well; quote the chain for the shell", argc, argv);
  if (status != CLI_END) return status;
  if (views && (raw || json)) return cli_usage("index", "--views goes with neither --raw nor --json");
  if (explain && (raw || json || views))
    return cli_usage("index", "--explain goes with none of --raw, --views and --json");
  fe_watch watch;
  status = cli_trace_init(&watch, "index", trace != NULL);
  if (status) return status;
  if (json)
    return chain ? cli_usage("index", "--json reads chains from standard input, found '%s'", chain)
                 : cli_index_json(stdin, stdout, raw != NULL, fe_watch_observer(&watch));
  if (!chain)
    return cli_usage("index", "no chain given; for example: viewfold index 'f32[3,2].permute(1,0)'");
  if (access(chain, F_OK) == 0 || strstr(chain, ".vf") || strstr(chain, ".onnx"))
    return cli_usage(
        "index",
        "takes a chain such as 'f32[3,2].permute(1,0)', found the file '%s'; the index expressions of a "
        "graph are printed by `viewfold dump --stage=index %s`",
        chain, chain);
  return one_chain(chain,
                   explain ? EXPLANATION
                   : views ? VIEW_CHAIN
                   : raw   ? RAW_ACCESS
                           : ACCESS,
                   fe_watch_observer(&watch));
}
