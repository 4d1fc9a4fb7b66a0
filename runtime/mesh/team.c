#include "runtime/mesh/team.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "runtime/system/stack.h"

typedef struct member {
  rt_team *team;
  pthread_t thread;
  uint32_t number;
} member;

struct rt_team {
  const ir_mem *mem;
  uint32_t members, started; /* threads: members - 1 when all have started */
  pid_t owner;               /* the process that started them */
  pthread_mutex_t lock;
  pthread_cond_t begin, end;
  uint64_t round; /* of work; guarded, as are all fields below */
  uint32_t busy;
  bool quit;
  rt_team_work work;
  void *user;
  member list[]; /* 0 is the caller */
};

static void *thread_main(void *argument) {
  member *m = argument;
  rt_team *t = m->team;
  uint64_t seen = 0;
  pthread_mutex_lock(&t->lock);
  for (;;) {
    while (t->round == seen && !t->quit) pthread_cond_wait(&t->begin, &t->lock);
    if (t->quit) break;
    seen = t->round;
    pthread_mutex_unlock(&t->lock);
    t->work(t->user, m->number);
    pthread_mutex_lock(&t->lock);
    if (--t->busy == 0) pthread_cond_signal(&t->end);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

static void set_up(rt_team *t) {
  t->started = 0;
  t->owner = getpid();
  t->round = 0;
  t->busy = 0;
  t->quit = false;
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->begin, NULL);
  pthread_cond_init(&t->end, NULL);
}

rt_team *rt_team_make(const ir_mem *mem, uint32_t members) {
  size_t size = sizeof(rt_team) + members * sizeof(member);
  rt_team *t = ir_alloc(mem, size);
  if (!t) return NULL;
  memset(t, 0, size);
  t->mem = mem;
  t->members = members;
  set_up(t);
  return t;
}

void rt_team_free(rt_team *t) {
  if (!t) return;
  if (t->owner == getpid()) {
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 1; i <= t->started; i++) pthread_join(t->list[i].thread, NULL);
    pthread_cond_destroy(&t->begin);
    pthread_cond_destroy(&t->end);
    pthread_mutex_destroy(&t->lock);
  }
  ir_free(t->mem, t, sizeof *t + t->members * sizeof(member));
}

static ir_status start(rt_team *t, ir_error *error) {
  if (t->owner != getpid()) set_up(t);
  for (bool good = true; good && t->started + 1 < t->members;) {
    member *m = &t->list[t->started + 1];
    *m = (member){.team = t, .number = t->started + 1};
    good = rt_thread_start(&m->thread, thread_main, m);
    t->started += good;
  }
  if (t->started + 1 >= t->members) return IR_OK;
  return ir_fail(
      error, IR_ERR_DEVICE,
      "a mesh of %u devices takes as many threads; the system starts no more than %u: the limits of this "
      "process (ulimit -u, -v) are reached",
      t->members, t->started);
}

ir_status rt_team_run(rt_team *t, rt_team_work work, void *user, ir_error *error) {
  ir_status status = start(t, error);
  if (status) return status;
  pthread_mutex_lock(&t->lock);
  t->work = work;
  t->user = user;
  t->busy = t->members - 1;
  t->round++;
  pthread_cond_broadcast(&t->begin);
  pthread_mutex_unlock(&t->lock);
  work(user, 0);
  pthread_mutex_lock(&t->lock);
  while (t->busy) pthread_cond_wait(&t->end, &t->lock);
  pthread_mutex_unlock(&t->lock);
  return IR_OK;
}
