/* How often do chains that do the same become the same node?
 *
 *   prop_same --seed S --count N [--steps 5] [--list K] [--at-least PERMILLE]
 *
 * Two chains do the same when their results have the same shape and each element has the same source in the
 * buffer, or is padding in both; plain copying of elements decides. N random chains are divided into classes
 * of chains that do the same. Identities and chains whose results are only padding are left out; a chain
 * counts once however often it was drawn. All chains of a class are folded in one graph: the class holds one
 * node when all folded pairs (index, validity) are the same references. The rate is the share of such classes
 * among those of at least two chains; status 1 when it is below PERMILLE of a thousand, 900 unless told. The
 * K smallest classes with several nodes are listed with the shortest chain of each node. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/fold/fold.h"
#include "test/lib/view_model.h"
#include "test/lib/view_record.h"
#include "test/lib/options.h"

enum { NODES = 64, GRAPH_NODES = 1 << 20 };

typedef struct entry {
  uint64_t map[2], text; /* digests of the chain's map and of its text */
  uint64_t number;
} entry;

/* A pair (index, validity) of a class and how many chains lead to it. */
typedef struct node {
  ir_ref index, valid;
  uint64_t chains;
  model_chain shortest;
} node;

typedef struct offender {
  size_t first, count; /* index and number of its entries */
  int steps, elements;
} offender;

static uint64_t seed = 1;
static int longest = 5;
static ir_graph g;
static ir_error error;

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0xff51afd7ed558ccdu;
  return h ^ h >> 32;
}

static void chain_of(uint64_t number, model_chain *c) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + number;
  model_random_small(&state, longest, c);
}

static uint64_t digest_of_chain(const model_chain *c) {
  uint64_t h = mix(1, (uint64_t)c->base.rank);
  for (int i = 0; i < c->base.rank; i++) h = mix(h, (uint64_t)c->base.size[i]);
  for (int i = 0; i < c->count; i++) {
    const model_step *s = &c->steps[i];
    h = mix(mix(h, (uint64_t)s->kind), (uint64_t)s->n);
    for (int k = 0; k < MODEL_RANK; k++) h = mix(mix(h, (uint64_t)s->a[k]), (uint64_t)s->b[k]);
  }
  return h;
}

/* False for maps that are left out: identities and padding alone. */
static bool digest_of_map(const model_array *m, uint64_t out[2]) {
  bool identity = true, empty = true;
  for (int half = 0; half < 2; half++) {
    uint64_t h = mix((uint64_t)half + 1, (uint64_t)m->shape.rank);
    for (int i = 0; i < m->shape.rank; i++) h = mix(h, (uint64_t)m->shape.size[i]);
    for (int i = 0; i < m->count; i++) {
      h = mix(h, (uint64_t)m->at[i]);
      identity &= m->at[i] == i;
      empty &= m->at[i] < 0;
    }
    out[half] = h;
  }
  return !identity && !empty;
}

static int by_class(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->map[0] != y->map[0]) return x->map[0] < y->map[0] ? -1 : 1;
  if (x->map[1] != y->map[1]) return x->map[1] < y->map[1] ? -1 : 1;
  if (x->text != y->text) return x->text < y->text ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorted by class, each chain once. */
static entry *gather_chains(uint64_t count, size_t *found) {
  static model_array map;
  entry *all = malloc((count ? count : 1) * sizeof *all);
  size_t n = 0, kept = 0;
  if (!all) exit(77);
  for (uint64_t k = 0; k < count; k++) {
    model_chain c;
    chain_of(k, &c);
    if (!model_run(&c, &map) || !digest_of_map(&map, all[n].map)) continue;
    all[n].text = digest_of_chain(&c);
    all[n++].number = k;
  }
  qsort(all, n, sizeof *all, by_class);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || memcmp(all[kept - 1].map, all[i].map, sizeof all[i].map) != 0 ||
        all[kept - 1].text != all[i].text)
      all[kept++] = all[i];
  *found = kept;
  return all;
}

static bool fold(const model_chain *c, ir_ref *index, ir_ref *valid) {
  ir_ref x = view_record_chain(&g, c);
  if (x && pass_fold_chain(&g, x, index, valid)) return true;
  char text[MODEL_TEXT];
  model_print(c, text);
  printf("prop_same: %s\n  does not fold: %s\n", text, error.text);
  return false;
}

/* Finds the distinct nodes of a class. Returns their number, at most NODES; -1 after an error. */
static int nodes_of(const entry *class, size_t count, node *nodes) {
  int n = 0;
  if (g.count == 0 || g.count > GRAPH_NODES) {
    if (g.count) ir_graph_free(&g);
    if (ir_graph_init(&g, &ir_mem_libc, &error) != IR_OK) return -1;
  }
  for (size_t i = 0; i < count; i++) {
    model_chain c;
    ir_ref index, valid;
    chain_of(class[i].number, &c);
    if (!fold(&c, &index, &valid)) return -1;
    int at = 0;
    while (at < n && (nodes[at].index != index || nodes[at].valid != valid)) at++;
    if (at == n && n == NODES) at = n - 1;
    if (at == n) nodes[n++] = (node){index, valid, 0, c};
    if (c.count < nodes[at].shortest.count) nodes[at].shortest = c;
    nodes[at].chains++;
  }
  return n;
}

static void show(const offender *o, const entry *all) {
  static node nodes[NODES];
  static model_array map;
  int n = nodes_of(all + o->first, o->count, nodes);
  if (n < 1 || !model_run(&nodes[0].shortest, &map)) return;
  printf("class of %zu chains, %d nodes, map", o->count, n);
  for (int i = 0; i < map.count && i < 24; i++) printf(" %d", (int)map.at[i]);
  printf(map.count > 24 ? " ...\n" : "\n");
  for (int i = 0; i < n; i++) {
    char text[MODEL_TEXT];
    ir_text index;
    model_print(&nodes[i].shortest, text);
    ir_text_init(&index, &ir_mem_libc);
    ir_print_expr(&g, nodes[i].index, &index);
    ir_text_str(&index, "   valid ");
    ir_print_expr(&g, nodes[i].valid, &index);
    printf("  %5" PRIu64 " x %s\n          %s\n", nodes[i].chains, text, ir_text_get(&index));
    ir_text_free(&index);
  }
}

static int by_size(const void *a, const void *b) {
  const offender *x = a, *y = b;
  if (x->steps != y->steps) return x->steps - y->steps;
  if (x->elements != y->elements) return x->elements - y->elements;
  return x->first < y->first ? -1 : x->first > y->first;
}

/* steps: the sum over the shortest chains of all nodes; elements: of the result */
static offender measured(size_t first, size_t count, const node *nodes, int n) {
  static model_array map;
  offender o = {first, count, 0, 0};
  for (int i = 0; i < n; i++) o.steps += nodes[i].shortest.count;
  if (model_run(&nodes[0].shortest, &map)) o.elements = map.count;
  return o;
}

int main(int argc, char **argv) {
  uint64_t count = 20000, least = 999, listed = 0;
  OPTIONS_READ(argc, argv, OPTION("--seed", &seed), OPTION("--count", &count), OPTION("--steps", &longest),
               OPTION("--list", &listed), OPTION("--at-least", &least));
  if (longest < 2 || longest > MODEL_STEPS) return 2;
  static node nodes[NODES];
  size_t found, classes = 0, several = 0, single = 0, bad = 0, cap = 0;
  uint64_t pairs = 0, same = 0, chains = 0;
  offender *offenders = NULL;
  entry *all = gather_chains(count, &found);
  for (size_t i = 0, n; i < found; i += n) {
    for (n = 1; i + n < found && memcmp(all[i].map, all[i + n].map, sizeof all[i].map) == 0;) n++;
    classes++;
    if (n < 2) continue;
    int made = nodes_of(all + i, n, nodes);
    if (made < 0) return 1;
    several++, single += made == 1, chains += n;
    pairs += n * (n - 1) / 2;
    for (int k = 0; k < made; k++) same += nodes[k].chains * (nodes[k].chains - 1) / 2;
    if (made == 1 || !listed) continue;
    if (!IR_RESERVE(&ir_mem_libc, offenders, cap, bad + 1)) return 1;
    offenders[bad++] = measured(i, n, nodes, made);
  }
  if (bad) qsort(offenders, bad, sizeof *offenders, by_size);
  for (size_t i = 0; i < bad && i < listed; i++) show(&offenders[i], all);
  double rate = several ? 100.0 * (double)single / (double)several : 100.0;
  bool enough = single * 1000 >= several * least;
  ir_free(&ir_mem_libc, offenders, cap * sizeof *offenders);
  if (g.count) ir_graph_free(&g);
  free(all);
  printf("%" PRIu64 " chains drawn, %zu different that move something; %zu classes, %zu of several chains "
         "(%" PRIu64 " chains), %zu of one node\n",
         count, found, classes, several, chains, single);
  printf("pairs: %" PRIu64 " of %" PRIu64 " (%.3f%%) are one node\n", same, pairs,
         pairs ? 100.0 * (double)same / (double)pairs : 100.0);
  printf("prop_same: %.3f%% of %zu classes hold one node, at least %.1f%% wanted, seed %" PRIu64 "\n", rate,
         several, (double)least / 10, seed);
  return !enough;
}
