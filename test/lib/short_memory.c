#include "short_memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "level.h"
#include "memory.h"

void short_memory_everywhere(bool (*attempt)(vf_context *context), const vf_error *error) {
  bool good = false;
  for (long fail_at = 1, step = level_step(4); !good; fail_at += step) {
    test_memory memory = {0};
    vf_context *c = test_memory_context(&memory);
    assert_non_null(c);
    memory.fail_at = memory.allocations + fail_at;
    good = attempt(c);
    if (!good) assert_int_equal(error->status, VF_ERR_MEMORY);
    bool reached = memory.allocations >= memory.fail_at;
    if (good && reached) good = false; /* the failure had no effect on the result */
    memory.fail_at = 0;
    vf_context_destroy(c);
    assert_int_equal(memory.live, 0);
    assert_int_equal(memory.wrong_sizes, 0);
  }
}
