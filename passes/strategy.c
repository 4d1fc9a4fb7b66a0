/* Which strategy is the target's. Nothing else of the passes asks for the kind of machine. */
#include "strategy.h"

const pass_strategy *pass_strategy_of(const ir_target *target) {
  return target->group_items ? &pass_on_gpu : &pass_on_cpu;
}
