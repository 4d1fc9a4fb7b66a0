/* The moves that won, in the cache on disk: storing, reading, listing and forgetting them. */
#include <stdio.h>

#include "frontend/api/tuned.h"
#include "frontend/cli/tune/tune.h"
#include "runtime/program/tuned.h"

static bool keep_kernel(const tune_kernel *k, rt_context *cached_context, const char *graph) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  ir_textf(&text, "kernel %s of @%s\ntook %lld ns, takes %lld ns\n", k->key.symbol, graph,
           (long long)k->model_ns, (long long)k->best_ns);
  for (size_t i = 0; i < k->best.count; i++)
    ir_textf(&text, "nest %u: %s\n", k->best.items[i].nest, k->best.items[i].text);
  bool kept = !text.failed && rt_tuned_put(cached_context, &k->key, ir_text_get(&text));
  ir_text_free(&text);
  return kept;
}

bool tune_keep(tune *t, rt_context *cached_context) {
  bool kept = true;
  for (size_t i = 0; i < t->count; i++) {
    const tune_kernel *k = &t->kernels[i];
    if (!k->searched) continue;
    if (k->best.count) kept &= keep_kernel(k, cached_context, t->request.name);
    else if (k->model_ns) rt_tuned_forget(cached_context, &k->key);
  }
  return kept;
}

void tune_read_kept(tune *t, rt_context *cached_context) {
  fe_tuned kept;
  fe_tuned_init(&kept, cached_context, &ir_mem_libc);
  for (size_t i = 0; i < t->count && kept.context; i++) {
    size_t at = 0;
    uint32_t nest;
    const char *moves;
    fe_tuned_read(&kept, &t->kernels[i].key);
    while (fe_tuned_next(&kept, &at, &nest, &moves)) tune_add(&t->kernels[i].best, nest, moves);
  }
  fe_tuned_free(&kept);
}

static void print_forgotten(uint64_t count) {
  printf("%llu kernel%s forgotten\n", (unsigned long long)count, count == 1 ? "" : "s");
}

void tune_forget(tune *t, rt_context *cached_context) {
  uint64_t count = 0;
  for (size_t i = 0; i < t->count; i++) count += rt_tuned_forget(cached_context, &t->kernels[i].key);
  print_forgotten(count);
}

bool tune_forget_all(rt_context *cached_context) {
  uint64_t count;
  bool good = rt_tuned_forget_all(cached_context, &count);
  if (good) print_forgotten(count);
  return good;
}

static void print_entry(void *user, const char *text) {
  unsigned *count = user;
  if ((*count)++) puts("");
  fputs(text, stdout);
}

bool tune_print_kept(rt_context *cached_context) {
  unsigned count = 0;
  bool good = rt_tuned_list(cached_context, print_entry, &count);
  if (good && !count) puts("nothing is tuned");
  return good;
}
