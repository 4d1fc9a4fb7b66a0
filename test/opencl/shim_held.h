/* References to OpenCL objects that the user of the driver holds: it made or retained them, and has to
 * release each before the process ends by exit. Where it has not, that is said on standard error, and the
 * exit status is 99. */
#ifndef VIEWFOLD_TEST_SHIM_HELD_H
#define VIEWFOLD_TEST_SHIM_HELD_H

enum {
  SHIM_CONTEXTS,
  SHIM_QUEUES,
  SHIM_BUFFERS,
  SHIM_PROGRAMS,
  SHIM_KERNELS,
  SHIM_EVENTS,
  SHIM_NOTHING /* what is no object; and their number */
};

/* `change` references more to an object of the kind; none where `made` is NULL. */
void shim_hold(int kind, const void *made, long change);

#endif
