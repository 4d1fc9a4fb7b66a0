/* The exchanges of a program, counted in the order of its plan. Programs of one graph for unlike devices have
 * other steps, and the same exchanges. */
#ifndef VIEWFOLD_RUNTIME_PROGRAM_EXCHANGE_TABLE_H
#define VIEWFOLD_RUNTIME_PROGRAM_EXCHANGE_TABLE_H

#include "runtime/program/program.h"

typedef struct rt_exchange_table {
  const rt_program *program; /* which must outlive the table */
  uint32_t *exchange_of;     /* by step of the plan: which exchange it is; 0 for other steps */
  uint32_t *steps;           /* by exchange */
  uint32_t count;
} rt_exchange_table;

/* IR_ERR_MEMORY; nothing is to be freed then. */
ir_status rt_exchange_table_make(const rt_program *program, rt_exchange_table *out, ir_error *error);
void rt_exchange_table_free(rt_exchange_table *table); /* accepts one that is all zero */
/* Are the exchanges of both the same, one by one: by name, dtype and rank? *first: the first that is not. */
bool rt_exchange_tables_agree(const rt_exchange_table *a, const rt_exchange_table *b, uint32_t *first);
/* The name of an exchange; NULL: there are not so many. */
const char *rt_exchange_name(const rt_exchange_table *table, uint32_t exchange);

#endif
