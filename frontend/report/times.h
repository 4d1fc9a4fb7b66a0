/* How long the parts of a compilation took, as a table. */
#ifndef VIEWFOLD_FRONTEND_REPORT_TIMES_H
#define VIEWFOLD_FRONTEND_REPORT_TIMES_H

#include <pthread.h>

#include "ir/base.h"
#include "ir/timer.h"

typedef struct fe_time {
  const char *phase; /* a literal */
  int step;
  char *symbol; /* NULL: of the step, or of the graph where that is negative */
  int64_t ns;   /* of all that was noted for these together */
} fe_time;

/* Stays where it was initialised. What memory is short for is not noted. */
typedef struct fe_times {
  ir_timer timer;
  const ir_mem *mem;
  pthread_mutex_t lock;
  fe_time *list;
  size_t count, cap;
} fe_times;
bool fe_times_init(fe_times *times, const ir_mem *mem);
void fe_times_free(fe_times *times);

/* Microseconds: a table of the parts that belong to the graph, then one row per step, one row per kernel. */
void fe_times_print(const fe_times *times, ir_text *out);

#endif
