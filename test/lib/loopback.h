/* Processes of a mesh that are threads of a test: loopback between them, some of which may be cut. */
#ifndef VIEWFOLD_TEST_LIB_LOOPBACK_H
#define VIEWFOLD_TEST_LIB_LOOPBACK_H

#include "runtime/mesh/transport.h"

typedef struct loopback loopback;

/* Wires between so many processes. Packets of each pair arrive in order, those of different pairs in an order
 * that the seed draws. */
loopback *loopback_make(uint32_t processes, uint64_t seed);
void loopback_free(loopback *loopback); /* all of them must have been closed */
rt_transport *loopback_of(loopback *loopback, uint32_t process);
/* From now on nothing comes from this process or goes to it, as where it has been killed. */
void loopback_cut(loopback *loopback, uint32_t process);
/* Packets that have been sent so far, without those that ask and answer. */
uint64_t loopback_sent(loopback *loopback);

#endif
