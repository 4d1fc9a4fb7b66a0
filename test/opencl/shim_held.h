/* References to OpenCL objects that the user of the driver holds: it must release each one that it made or
 * retained before the process exits. Otherwise the leak is reported on standard error, and the exit status is
 * 99. */
#ifndef VIEWFOLD_TEST_SHIM_HELD_H
#define VIEWFOLD_TEST_SHIM_HELD_H

enum {
  SHIM_CONTEXTS,
  SHIM_QUEUES,
  SHIM_BUFFERS,
  SHIM_PROGRAMS,
  SHIM_KERNELS,
  SHIM_EVENTS,
  SHIM_NOTHING /* no object; also the number of kinds */
};

/* Adds `change` references to an object of the kind; nothing where `made` is NULL. */
void shim_hold(int kind, const void *made, long change);

#endif
