/* The times of the phases of a compilation, as tables. */
#ifndef VIEWFOLD_FRONTEND_REPORT_TIMES_H
#define VIEWFOLD_FRONTEND_REPORT_TIMES_H

#include <pthread.h>

#include "ir/base.h"
#include "ir/timer.h"

typedef struct fe_time {
  const char *phase; /* a literal */
  int step;
  char *symbol; /* NULL: a time of the step, or of the graph where step is negative */
  int64_t ns;   /* the sum of all times noted for phase, step and symbol */
} fe_time;

/* Must not move after fe_times_init. A time for which memory is short is not noted. */
typedef struct fe_times {
  ir_timer timer;
  const ir_mem *mem;
  pthread_mutex_t lock;
  fe_time *list;
  size_t count, cap;
} fe_times;
bool fe_times_init(fe_times *times, const ir_mem *mem);
void fe_times_free(fe_times *times);

/* Microseconds: a table of the phases of the graph, one with a row per step, one with a row per kernel. */
void fe_times_print(const fe_times *times, ir_text *out);

#endif
