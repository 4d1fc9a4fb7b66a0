/* Plain threads for limits and oracles: what viewfold is compared with does not use viewfold's own
 * threads. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "frontend/cli/bench/bench.h"

enum { MOST_MEMBERS = 64 };

typedef struct team {
  void (*run)(void *user, int number, int count);
  void *user;
  atomic_int count; /* number of threads; 0 until all have been started */
} team;
typedef struct member {
  team *team;
  int number;
  pthread_t thread;
} member;

static void *thread_main(void *argument) {
  member *m = argument;
  int count;
  while ((count = atomic_load_explicit(&m->team->count, memory_order_acquire)) == 0) sched_yield();
  m->team->run(m->team->user, m->number, count);
  return NULL;
}

void bench_team(int threads, void (*run)(void *user, int number, int count), void *user) {
  team t = {.run = run, .user = user};
  member members[MOST_MEMBERS];
  int made = 1;
  while (made < threads && made < MOST_MEMBERS) {
    members[made] = (member){.team = &t, .number = made};
    if (pthread_create(&members[made].thread, NULL, thread_main, &members[made]) != 0) break;
    made++;
  }
  atomic_store_explicit(&t.count, made, memory_order_release);
  run(user, 0, made);
  for (int i = 1; i < made; i++) pthread_join(members[i].thread, NULL);
}
