/* The custom operations of a context. */
#ifndef VIEWFOLD_FRONTEND_API_CUSTOM_H
#define VIEWFOLD_FRONTEND_API_CUSTOM_H

#include <pthread.h>

#include "frontend/api/taps.h"
#include "frontend/viewfold.h"
#include "passes/ops/custom.h"
#include "runtime/native/library.h"
#include "runtime/native/native.h"
#include "runtime/native/source.h"

/* One operation; its strings are in the same allocation. */
typedef struct fe_custom {
  op_custom base;
  struct fe_custom *next;
  vf_context *context;
  vf_op_description given;
  rt_native native;
  ir_custom_attribute attributes[IR_CUSTOM_MAX];
  pthread_mutex_t lock; /* of library and function: source is compiled once */
  void *library;        /* of rt_source_load */
  void (*function)(void);
  size_t size;
  char strings[];
} fe_custom;

/* All operations of a context. The list only grows; threads may add to it and search it at the same time. */
typedef struct fe_customs {
  ir_customs base;
  vf_context *context;
  pthread_mutex_t lock;
  fe_custom *first;
  fe_taps taps;
} fe_customs;

/* The operations of taps alone; the memory of others will be the context's. Cannot fail. */
void fe_customs_init(fe_customs *customs, vf_context *context, const vf_options *options);
/* Frees the operations: calls the users' release functions and unloads compiled sources. Programs and graphs
 * that call the operations must be gone. */
void fe_customs_free(fe_customs *customs);
rt_calls fe_customs_calls(fe_customs *customs); /* how programs find and run them */
/* custom_rules.c: the user's functions as the registry calls them */
void fe_custom_rules(fe_custom *custom);

#endif
