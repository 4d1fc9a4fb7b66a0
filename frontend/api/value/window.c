/* Builders of convolutions and pooling. */
#include "frontend/api/api.h"
#include "passes/ops/compose/compose.h"

typedef struct settings {
  const int64_t *kernel, *stride, *padding, *dilation, *extra; /* NULL: 1, 1, 0, 1, 0 */
} settings;

static bool windows(fe_call *c, int count, const settings *s, op_window w[IR_MAX_RANK]) {
  if (count < 1 || count > IR_MAX_RANK)
    return fe_refuse(c, "%d spatial axes; takes at least 1 and at most %d", count, IR_MAX_RANK);
  for (int i = 0; i < count; i++) {
    int64_t padding = s->padding ? s->padding[i] : 0;
    w[i] = (op_window){.extent = s->kernel ? s->kernel[i] : 1,
                       .stride = s->stride ? s->stride[i] : 1,
                       .dilation = s->dilation ? s->dilation[i] : 1,
                       .before = padding,
                       .after = padding,
                       .extra = s->extra ? s->extra[i] : 0};
  }
  return true;
}

typedef ir_ref (*conv_builder)(ir_graph *g, const ir_ref *x, size_t n, const op_window *w, size_t axes,
                               int64_t groups);

static vf_value conv(const char *who, conv_builder build, const vf_value x[3], int count, const settings *s,
                     int64_t groups) {
  fe_call c;
  op_window w[IR_MAX_RANK];
  size_t n = x[2].graph ? 3 : 2;
  ir_ref refs[3] = {x[0].id, x[1].id, x[2].id};
  bool good = fe_begin(&c, who, x, n) && windows(&c, count, s, w);
  return fe_end(&c, good ? build(c.ir, refs, n, w, (size_t)count, groups) : 0);
}

vf_value vf_conv(vf_value x, vf_value weight, vf_value bias, int count, const int64_t *stride,
                 const int64_t *padding, const int64_t *dilation, int64_t groups) {
  settings s = {.stride = stride, .padding = padding, .dilation = dilation};
  return conv("conv", op_conv, (vf_value[]){x, weight, bias}, count, &s, groups);
}

vf_value vf_conv_transpose(vf_value x, vf_value weight, vf_value bias, int count, const int64_t *stride,
                           const int64_t *padding, const int64_t *output_padding, const int64_t *dilation,
                           int64_t groups) {
  settings s = {.stride = stride, .padding = padding, .dilation = dilation, .extra = output_padding};
  return conv("conv_transpose", op_conv_transpose, (vf_value[]){x, weight, bias}, count, &s, groups);
}

static bool has_kernel(fe_call *c, const int64_t *kernel) {
  return kernel || fe_refuse(c, "the list of the kernel's sizes is NULL; takes one for each spatial axis");
}

vf_value vf_max_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                     const int64_t *padding, const int64_t *dilation) {
  fe_call c;
  op_window w[IR_MAX_RANK];
  settings s = {kernel, stride ? stride : kernel, padding, dilation, NULL};
  bool good = fe_begin(&c, "max_pool", &x, 1) && windows(&c, count, &s, w) && has_kernel(&c, kernel);
  return fe_end(&c, good ? op_max_pool(c.ir, x.id, w, (size_t)count) : 0);
}

vf_value vf_avg_pool(vf_value x, int count, const int64_t *kernel, const int64_t *stride,
                     const int64_t *padding, bool count_pads) {
  fe_call c;
  op_window w[IR_MAX_RANK];
  settings s = {kernel, stride ? stride : kernel, padding, NULL, NULL};
  bool good = fe_begin(&c, "avg_pool", &x, 1) && windows(&c, count, &s, w) && has_kernel(&c, kernel);
  return fe_end(&c, good ? op_avg_pool(c.ir, x.id, w, (size_t)count, count_pads) : 0);
}
