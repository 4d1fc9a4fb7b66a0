/* Shared objects: the linker is the C compiler's, `cc` or what the environment calls CC, as for a library of
 * any other language. */
#include "frontend/build/build.h"
#include "runtime/system/tool.h"

ir_status fe_link_shared(const fe_built *built, cg_blob *out, ir_error *error) {
  /* CC may be several words */
  static const char *const words[] = {
      "sh",          "-c", "exec ${CC:-cc} -shared -nostdlib -o \"$1\" \"$2\"", "sh", RT_TOOL_OUTPUT,
      RT_TOOL_INPUT, NULL};
  rt_tool linker = {
      .who = "build",
      .words = words,
      .input_name = "model.o",
      .input = built->object.bytes,
      .input_size = built->object.size,
      .output_name = "model.so",
      .missing = "a shared object needs sh and a C compiler to link it",
      .failed = "the C compiler (cc, or what CC says) cannot link the shared object; for another machine "
                "CC has to be its compiler"};
  uint8_t *bytes = NULL;
  ir_status status = rt_tool_run(&linker, out->mem, &bytes, &out->size, error);
  out->bytes = (char *)bytes;
  return status;
}
