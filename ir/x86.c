/* The tables of ir/x86_features.def. */
#include "ir/x86.h"

#include <string.h>

const ir_x86_leaf ir_x86_leaves[IR_X86_LEAVES] = {
#define LEAF(name, leaf, sub, counter, least) {leaf, sub, IR_X86_LEAF_##counter, least},
#include "ir/x86_features.def"
#undef LEAF
};

const ir_x86_feature ir_x86_features[] = {
#define FEATURE(name, leaf, reg, bit, state) {name, IR_X86_LEAF_##leaf, IR_X86_##reg, bit, IR_X86_##state},
#include "ir/x86_features.def"
#undef FEATURE
};
const size_t ir_x86_feature_count = sizeof ir_x86_features / sizeof *ir_x86_features;

const ir_x86_feature *ir_x86_find(const char *name, size_t length) {
  for (size_t i = 0; i < ir_x86_feature_count; i++)
    if (strlen(ir_x86_features[i].name) == length && !memcmp(ir_x86_features[i].name, name, length))
      return &ir_x86_features[i];
  return NULL;
}
