#include "test/lib/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/level.h"
#include "test/lib/random_graph.h"

enum { ENOUGH = 5, QUICK = 16, TARGET = 1024 };

const case_machine case_machines[CASE_MACHINES] = {
    {1, NULL},
    {2, NULL},
    {4, NULL},
    {1, "vector_bytes=16 registers=16 l1=8192 l2=32768 l3=65536"},
    {2, "vector_bytes=32 registers=16 l1=32768 l2=262144"},
    {2, "vector_bytes=16 lanes=64 local=32768"},
    {1, "vector_bytes=16 lanes=16 local=4096"}};

cases cases_read(int argc, char **argv, long count) { return cases_read_with(argc, argv, count, NULL, 0); }

cases cases_read_with(int argc, char **argv, long count, const option *more, size_t more_count) {
  enum { MOST = 10 };
  cases c = {.seed = 1, .count = count};
  const char *only = NULL, *shown = NULL;
  option list[MOST] = {OPTION("--seed", &c.seed), OPTION("--count", &c.count), OPTION("--case", &only),
                       OPTION("--show", &shown)};
  for (size_t i = 0; i < more_count && 4 + i < MOST; i++) list[4 + i] = more[i];
  options_read(argc, argv, list, 4 + more_count);
  if (shown) only = shown;
  if (only) c.seed = strtoull(only, NULL, 0), c.count = 1;
  c.repeat = only != NULL, c.show = shown != NULL;
  return c;
}

void cases_run(cases *c, bool (*check)(uint64_t seed)) {
  for (; c->done < c->count && c->failed < ENOUGH; c->done++) {
    uint64_t state = c->seed + (uint64_t)c->done * 0x10001;
    c->failed += !check(c->repeat ? c->seed : random_next(&state));
  }
}

rt_options cases_options(void) {
  return (rt_options){.no_disk = true,
                      .device = getenv("VIEWFOLD_DEVICE"),
                      .target = getenv("VIEWFOLD_TEST_TARGET"),
                      .separate_arrays = getenv("VIEWFOLD_TEST_APART") != NULL};
}

bool cases_open(const case_machine *machines, int count, rt_context **contexts) {
  ir_error error = {0};
  for (int k = 0; k < count; k++) {
    static char quick[QUICK][TARGET]; /* contexts keep what they are given */
    rt_options options = cases_options();
    options.threads = machines[k].threads;
    if (!options.target) options.target = machines[k].target;
    if (k > 0 && k < QUICK && !options.device && level_is_test()) {
      snprintf(quick[k], TARGET, "%s quick=1", options.target ? options.target : "");
      options.target = quick[k];
    }
    if (rt_context_create(&ir_mem_libc, &options, &contexts[k], &error) == IR_OK) continue;
    fprintf(stderr, "%s\n", error.text);
    cases_close(contexts, k);
    return false;
  }
  return true;
}

void cases_close(rt_context **contexts, int count) {
  for (int k = 0; k < count; k++) rt_context_destroy(contexts[k]);
}

/* The text of a setting in the target, up to a space. Returns its length, 0 if it is not set. */
static size_t setting_in(const char *setting, const char *target, const char **out) {
  *out = target ? strstr(target, setting) : NULL;
  return *out ? strcspn(*out, " ") : 0;
}

static bool same_setting(const char *setting, const char *a, const char *b) {
  const char *here, *there;
  size_t own = setting_in(setting, a, &here), other = setting_in(setting, b, &there);
  return own == other && (!own || memcmp(here, there, own) == 0);
}

bool cases_same_order(const case_machine *first, const case_machine *machine) {
  const char *forced = getenv("VIEWFOLD_TEST_TARGET"), *here = forced ? forced : first->target;
  return !machine->target ||
         (same_setting("lanes=", here, machine->target) && same_setting("parts=", here, machine->target));
}

void cases_tell_bits(const case_machine *machine, char *text, size_t room) {
  snprintf(text, room, "other bits with %d threads%s%s", machine->threads, machine->target ? " and " : "",
           machine->target ? machine->target : "");
}
