/* Times of hops: the model is that of ir/mesh/link.h, where all messages start at once. */
#include "impl.h"

void reshard_clock_add(reshard_clock *c, uint32_t axes, uint64_t messages, uint64_t bytes) {
  uint32_t latest = 0;
  double work = 0, byte = 0;
  bool any = false;
  for (uint32_t a = 0; a < IR_MESH_AXES; a++) {
    const ir_link *l = &c->p->links[a];
    if (!(axes >> a & 1)) continue;
    if (!any || l->flight > c->p->links[latest].flight) latest = a;
    if (l->work > work) work = l->work;
    if (l->byte > byte) byte = l->byte;
    any = true;
  }
  c->passes[latest] += (double)messages * (work + (double)bytes * byte);
}

double reshard_clock_end(const reshard_clock *c) {
  double end = 0, before = -1;
  for (;;) { /* latencies in their order */
    double flight = 0, passes = 0;
    for (uint32_t a = 0; a < IR_MESH_AXES; a++) {
      double f = c->p->links[a].flight;
      if (c->passes[a] <= 0 || f <= before || (passes > 0 && f > flight)) continue;
      passes = passes > 0 && f == flight ? passes + c->passes[a] : c->passes[a];
      flight = f;
    }
    if (passes <= 0) return end;
    end = (end > flight ? end : flight) + passes;
    before = flight;
  }
}

double reshard_least_time(const reshard_problem *p, uint64_t messages, uint64_t bytes) {
  return messages ? p->least.flight + (double)messages * p->least.work + (double)bytes * p->least.byte : 0;
}
