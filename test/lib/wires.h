/* Processes of a mesh that are threads of a test: wires between them, some of which may be cut. */
#ifndef VIEWFOLD_TEST_LIB_WIRES_H
#define VIEWFOLD_TEST_LIB_WIRES_H

#include "runtime/mesh/wire.h"

typedef struct wires wires;

/* Wires between so many processes. Packets of each pair arrive in order, those of different pairs in an order
 * that the seed draws. */
wires *wires_make(uint32_t processes, uint64_t seed);
void wires_free(wires *wires); /* all of them must have been closed */
rt_wire *wires_of(wires *wires, uint32_t process);
/* From now on nothing comes from this process or goes to it, as where it has been killed. */
void wires_cut(wires *wires, uint32_t process);
/* Packets that have been sent so far, without those that ask and answer. */
uint64_t wires_sent(wires *wires);

#endif
