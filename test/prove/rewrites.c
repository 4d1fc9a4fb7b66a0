/* Rewrites by functions rather than rules: each distinct rewrite that folding chains leads to is proven with
 * its constants, the bounds of its leaves and the validity it holds under. Rewrites by rules are proven along
 * with them, so that the compiled matcher is judged as well. */
#include "test/prove/prove.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "passes/index/rule.h"
#include "test/prove/corpus.h"
#include "test/prove/from_graph.h"

enum { SHOWN = 10 };

typedef struct collection {
  obligation *list;
  size_t count, cap;
  XXH128_hash_t *seen; /* open addressing */
  size_t size;
  uint64_t applied;
  const prove_options *options;
} collection;

static XXH128_hash_t digest(const obligation *o) {
  XXH3_state_t *s = XXH3_createState();
  if (!s) exit(2);
  XXH3_128bits_reset(s);
  XXH3_128bits_update(s, o->terms, (size_t)o->term_count * sizeof *o->terms);
  for (int i = 0; i < o->variable_count; i++) {
    int64_t fields[3] = {o->variables[i].lo, o->variables[i].hi, o->variables[i].truth};
    XXH3_128bits_update(s, fields, sizeof fields);
  }
  for (int i = 0; i < o->fact_count; i++) XXH3_128bits_update(s, &o->facts[i].term, sizeof o->facts[i].term);
  XXH3_128bits_update(s, o->demands, (size_t)o->demand_count * sizeof *o->demands);
  XXH3_128bits_update(s, (int[]){o->left, o->right}, 2 * sizeof(int));
  XXH128_hash_t h = XXH3_128bits_digest(s);
  XXH3_freeState(s);
  h.low64 |= 1; /* 0 is a free place */
  return h;
}

/* Adds the hash; false when it was there before. */
static bool note(collection *c, XXH128_hash_t h) {
  if (2 * c->count >= c->size) {
    size_t n = c->size;
    XXH128_hash_t *old = c->seen;
    c->size = n ? 2 * n : 1024;
    c->seen = calloc(c->size, sizeof *c->seen);
    if (!c->seen) exit(2);
    for (size_t i = 0; i < n; i++) {
      size_t at = old[i].low64 >> 1 & (c->size - 1);
      while (old[i].low64 && c->seen[at].low64) at = (at + 1) & (c->size - 1);
      if (old[i].low64) c->seen[at] = old[i];
    }
    free(old);
  }
  size_t at = h.low64 >> 1 & (c->size - 1);
  for (; c->seen[at].low64; at = (at + 1) & (c->size - 1))
    if (memcmp(&c->seen[at], &h, sizeof h) == 0) return false;
  c->seen[at] = h;
  return true;
}

/* Keeps the obligation, or frees it if an equal one is there. */
static void keep(collection *c, obligation *o) {
  if (!note(c, digest(o))) {
    obligation_free(o);
    return;
  }
  if (c->count == c->cap) c->list = realloc(c->list, (c->cap = c->cap ? 2 * c->cap : 1024) * sizeof *c->list);
  if (!c->list) exit(2);
  c->list[c->count++] = *o;
}

static bool collect(void *user, ir_graph *g, const char *rule, ir_ref given, ir_op op, const ir_ref *src,
                    uint32_t nsrc, ir_ref result) {
  collection *c = user;
  obligation o;
  c->applied++;
  obligation_of_rewrite(g, rule, given, op, src, nsrc, result, &o);
  keep(c, &o);
  return true;
}

static const char chain_index[] = "index of a chain", chain_valid[] = "validity of a chain";

static void collect_chain(void *user, ir_graph *g, const ir_ref textbook[2], const ir_ref found[2]) {
  collection *c = user;
  obligation o;
  obligation_of_equality(g, chain_index, textbook[1], textbook[0], found[0], &o);
  keep(c, &o);
  obligation_of_equality(g, chain_valid, 0, textbook[1], found[1], &o);
  keep(c, &o);
}

static verdict prove_one(const collection *c, const obligation *o, int64_t *at) {
  static solver *shared;
  if (!shared) shared = solver_new(c->options->solver_budget);
  return solver_prove(shared, o, at);
}

static uint8_t work(void *user, uint64_t number) {
  const collection *c = user;
  const obligation *o = &c->list[number];
  int64_t *at = calloc((size_t)o->term_count, sizeof *at);
  verdict v = at ? prove_one(c, o, at) : VERDICT_UNKNOWN;
  free(at);
  return (uint8_t)v;
}

static void show(const collection *c, const obligation *o) {
  int64_t *at = calloc((size_t)o->term_count, sizeof *at);
  verdict v = prove_one(c, o, at);
  printf("%s: ", v == VERDICT_REFUTED ? "wrong" : "not decided");
  obligation_show(o);
  if (v == VERDICT_REFUTED) obligation_show_point(o, at);
  free(at);
}

enum { BY_RULE, BY_FUNCTION, WHOLE_CHAIN, MAKERS };

static int maker(const char *name) {
  if (strcmp(name, chain_index) == 0 || strcmp(name, chain_valid) == 0) return WHOLE_CHAIN;
  for (size_t i = 0; i < pass_index_rule_set.rule_count; i++)
    if (strcmp(pass_index_rule_set.rules[i].name, name) == 0) return BY_RULE;
  return BY_FUNCTION;
}

static int prove_all(collection *c) {
  uint8_t *verdicts = calloc(c->count + 1, 1);
  int failed = 0, proven[MAKERS] = {0}, distinct[MAKERS] = {0};
  if (!verdicts) exit(2);
  if (!prove_parallel(c->options->processes, c->count, work, c, verdicts)) failed++;
  for (size_t i = 0; i < c->count; i++) {
    int by = maker(c->list[i].name);
    distinct[by]++;
    proven[by] += verdicts[i] == VERDICT_PROVEN;
    if (verdicts[i] != VERDICT_PROVEN && failed++ < SHOWN) show(c, &c->list[i]);
  }
  printf("%" PRIu64
         " rewrites; %d distinct made by functions, %d proven; %d distinct made by rules, %d proven; "
         "%d distinct chains as wholes, %d proven\n",
         c->applied, distinct[BY_FUNCTION], proven[BY_FUNCTION], distinct[BY_RULE], proven[BY_RULE],
         distinct[WHOLE_CHAIN], proven[WHOLE_CHAIN]);
  free(verdicts);
  return failed;
}

int prove_rewrites(const prove_options *options) {
  collection c = {.options = options};
  const corpus_listener listener = {{&c, collect, true}, collect_chain};
  long chains = options->corpus ? corpus_fold(options->corpus, &listener) : -1;
  for (uint64_t i = 0; i < options->chains; i++)
    random_chain_fold(options->seed, i, &listener, i < options->wholes);
  if (options->corpus && chains < 0) printf("rewrites: no corpus at %s, skipped\n", options->corpus);
  printf("rewrites: %ld chains of the corpus, %" PRIu64 " random chains: ", chains < 0 ? 0 : chains,
         options->chains);
  int failed = prove_all(&c);
  for (size_t i = 0; i < c.count; i++) obligation_free(&c.list[i]);
  free(c.list);
  free(c.seen);
  return failed;
}
