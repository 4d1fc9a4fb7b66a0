#include "test/lib/random_moves.h"

#include <string.h>

#include "test/lib/random_graph.h"

/* The number of the nest; RANDOM_NESTS if there is no room. */
static uint32_t find(random_moves *m, uint32_t kernel, uint32_t nest) {
  uint32_t i = 0;
  while (i < m->count && (m->nests[i].kernel != kernel || m->nests[i].nest != nest)) i++;
  if (i == m->count && m->count < RANDOM_NESTS) {
    memset(&m->nests[i], 0, sizeof m->nests[i]);
    m->nests[i].kernel = kernel, m->nests[i].nest = nest;
    m->count++;
  }
  return i;
}

static const char *chosen_moves(void *user, uint32_t kernel, uint32_t nest) {
  random_moves *m = user;
  uint32_t i = find(m, kernel, nest);
  return i < RANDOM_NESTS && *m->nests[i].now ? m->nests[i].now : NULL;
}

/* Keeps one neighbour, each with equal probability (reservoir sampling). */
static void note_neighbour(void *user, uint32_t kernel, uint32_t nest, const char *moves) {
  random_moves *m = user;
  uint32_t i = find(m, kernel, nest);
  if (i == RANDOM_NESTS || strlen(moves) >= RANDOM_MOVES) return;
  if (random_between(&m->state, 0, (int64_t)m->nests[i].neighbours++) == 0) strcpy(m->nests[i].next, moves);
}

void random_moves_begin(random_moves *m, uint64_t seed) {
  m->state = seed;
  m->count = 0;
  m->shaping = (pass_shaping){.user = m, .given = chosen_moves, .neighbour = note_neighbour};
}

/* The number and identity of a kernel's nests depend on the moves of outer nests, so only the first nest of
 * each kernel gets new moves. */
void random_moves_step(random_moves *m) {
  for (uint32_t i = 0; i < m->count; i++) {
    if (m->nests[i].neighbours && m->nests[i].nest == 0) strcpy(m->nests[i].now, m->nests[i].next);
    m->nests[i].neighbours = 0;
  }
}

void random_moves_print(const random_moves *m, ir_text *out) {
  for (uint32_t i = 0; i < m->count; i++)
    if (*m->nests[i].now)
      ir_textf(out, "kernel %u nest %u: %s\n", m->nests[i].kernel, m->nests[i].nest, m->nests[i].now);
}
