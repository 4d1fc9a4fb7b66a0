/* The machine description: the detected values are plausible, its text is complete, and settings override
 * it. */
#include "runtime/cpu/host.h"
#include "runtime/cpu/target.h"
#include "test/lib/unit.h"

static bool power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static ir_target host(void) {
  ir_target target;
  rt_target_host(&target);
  return target;
}

static char *text_of(const ir_target *target) {
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  rt_target_text(target, &text);
  assert_false(text.failed);
  char *copy = strdup(ir_text_get(&text));
  ir_text_free(&text);
  return copy;
}

static void host_is_plausible(void **state) {
  ir_target t = host();
  assert_true(t.triple[0]);
  assert_true(t.vector_bytes == 16 || t.vector_bytes == 32 || t.vector_bytes == 64);
  assert_true(t.registers == 16 || t.registers == 32);
  assert_true(power_of_two(t.l1_bytes) && power_of_two(t.l2_bytes) && power_of_two(t.l3_bytes));
  assert_true(t.l1_bytes >= 4096 && t.l1_bytes <= t.l2_bytes);
}

#if defined(__x86_64__)
static bool has(const ir_target *t, const char *name) {
  char list[1100], wanted[64];
  snprintf(list, sizeof list, ",%s,", t->features);
  snprintf(wanted, sizeof wanted, ",+%s,", name);
  return strstr(list, wanted) != NULL;
}
#endif

/* The compiler's run-time library detects the processor independently. */
static void host_agrees_with_the_compiler(void **state) {
#if defined(__x86_64__)
  ir_target t = host();
  __builtin_cpu_init();
  assert_int_equal(has(&t, "avx2"), __builtin_cpu_supports("avx2") != 0);
  assert_int_equal(has(&t, "fma"), __builtin_cpu_supports("fma") != 0);
  assert_int_equal(has(&t, "bmi2"), __builtin_cpu_supports("bmi2") != 0);
  assert_int_equal(has(&t, "popcnt"), __builtin_cpu_supports("popcnt") != 0);
  bool zmm = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  assert_int_equal(has(&t, "avx512f"), zmm);
  assert_int_equal(t.vector_bytes, zmm ? 64 : has(&t, "avx2") ? 32 : 16);
  assert_int_equal(t.registers, zmm ? 32 : 16);
  assert_int_equal(t.has_fma, has(&t, "fma"));
  assert_int_equal(t.has_f16c, has(&t, "f16c"));
#else
  skip();
#endif
}

/* By the words of the auxiliary vector that Linux gives: of a Cortex-A53, a Neoverse N1 and a Neoverse V1,
 * and of nothing. A feature of two bits is not there by the one. */
static void aarch64_features_by_hwcap(void **state) {
  static const struct {
    uint64_t hwcap, hwcap2;
    const char *features;
  } rows[] = {{0xff, 0, "+neon,+crc"},
              {0x119fff, 0, "+neon,+crc,+lse,+fullfp16,+rdm,+rcpc,+dotprod"},
              {0xdfffffff, 0x8100 | 1 << 13 | 1 << 14,
               "+neon,+crc,+lse,+fullfp16,+rdm,+rcpc,+dotprod,+fp16fml,+fptoint,+i8mm,+bf16"},
              {1 << 1 | 1 << 9, 0, "+neon"},
              {1 << 1 | 1 << 10, 0, "+neon"},
              {0, 0, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_target t = host();
    rt_aarch64_features(rows[i].hwcap, rows[i].hwcap2, &t);
    assert_string_equal(t.features, rows[i].features);
  }
}

static void host_is_the_same_every_time(void **state) {
  ir_target a = host(), b = host();
  assert_memory_equal(&a, &b, sizeof a);
}

static void text_parses_back(void **state) {
  ir_target t = host(), other;
  char *text = text_of(&t);
  memset(&other, 0, sizeof other);
  ir_error error = {0};
  assert_int_equal(rt_target_override(&other, text, &error), IR_OK);
  char *again = text_of(&other);
  assert_string_equal(text, again);
  free(text);
  free(again);
}

/* Features that the text names say whether there are DOT4 and FMA2, unless the text says that as well. */
static void features_decide_about_products(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool dot4, fma2;
  } rows[] = {{"features=+avx2", false, false},
              {"features=+avx2,+avxvnni", true, false},
              {"features=+avx512f,+avx512vnni", true, false},
              {"features=+avx512f,+avx512bf16", false, true},
              {"features=+avx2 dot4=1 fma2=1", true, true},
              {"features=+avx2,+avxvnni dot4=0", false, false},
              {"features=+avx512f,+avx512bf16 fma2=0", false, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_target t = host();
    ir_error error = {0};
    assert_int_equal(rt_target_override(&t, rows[i].text, &error), IR_OK);
    assert_int_equal(t.has_dot4, rows[i].dot4);
    assert_int_equal(t.has_fma2, rows[i].fma2);
  }
}

/* Two targets that differ in any one field have different texts: the text is part of every cache key. */
static void every_field_is_in_the_text(void **state) {
  static const char *const settings[] = {"triple=x86_64-other",
                                         "features=+zzz",
                                         "vector_bytes=%d",
                                         "registers=%d",
                                         "fma=%d",
                                         "f16c=%d",
                                         "masks=%d",
                                         "dot2=%d",
                                         "fma2=%d",
                                         "dot4=%d",
                                         "soft_f64=%d",
                                         "soft_division=%d",
                                         "l1=1",
                                         "l2=1",
                                         "l3=1",
                                         "read_past=%d",
                                         "read_ahead=%d",
                                         "gather=%d",
                                         "lanes=1",
                                         "local=1",
                                         "arguments=1",
                                         "parts=1"};
  ir_target t = host();
  int other[] = {0,
                 0,
                 t.vector_bytes == 16 ? 32 : 16,
                 t.registers == 16 ? 32 : 16,
                 !t.has_fma,
                 !t.has_f16c,
                 !t.has_masks,
                 !t.has_dot2,
                 !t.has_fma2,
                 !t.has_dot4,
                 !t.soft_f64,
                 !t.soft_division,
                 0,
                 0,
                 0,
                 !t.reads_past,
                 !t.reads_ahead,
                 !t.gathers,
                 0,
                 0,
                 0,
                 0};
  char *text = text_of(&t);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char setting[64];
    snprintf(setting, sizeof setting, settings[i], other[i]);
    ir_target changed = t;
    ir_error error = {0};
    assert_int_equal(rt_target_override(&changed, setting, &error), IR_OK);
    char *changed_text = text_of(&changed);
    assert_string_not_equal(text, changed_text);
    free(changed_text);
  }
  free(text);
}

#define PROCESSORS                                                                                           \
  "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, cortex-a76, neoverse-n1, riscv64, rv64gcv, loongarch64"

static void bad_settings_are_refused(void **state) {
  static const struct {
    const char *setting, *message;
  } bad[] = {
      {"vector_bytes=24", "target: 'vector_bytes=24': vector_bytes must be 16, 32 or 64"},
      {"registers=64", "target: 'registers=64': registers must be 16 or 32"},
      {"fma=yes", "target: 'fma=yes': fma must be 0 or 1"},
      {"l1=48000", "target: 'l1=48000': l1 must be a power of two"},
      {"l1=-1", "target: 'l1=-1': l1 must be a power of two"},
      {"lanes=12", "target: 'lanes=12': lanes must be 0 or a power of two up to 1024"},
      {"local=-4", "target: 'local=-4': local must be 0 or a power of two"},
      {"arguments=1000", "target: 'arguments=1000': arguments must be 0 or a power of two"},
      {"l3=", "target: 'l3=': l3 must be a power of two"},
      {"triple=", "target: 'triple=': triple must be 1 to 63 characters"},
      {"fma=1 speed=9",
       "target: 'speed=9' is not a setting; use name=value with a name among triple, features, "
       "vector_bytes, registers, fma, f16c, masks, dot2, fma2, dot4, l1, l2, l3, read_past, read_ahead, "
       "gather, lanes, "
       "together, matrix, local, arguments, sort, quick, parts; or first a processor: native, " PROCESSORS},
      {"fma",
       "target: 'fma' is not a setting; use name=value with a name among triple, features, vector_bytes, "
       "registers, fma, f16c, masks, dot2, fma2, dot4, l1, l2, l3, read_past, read_ahead, gather, lanes, "
       "together, matrix, local, arguments, sort, quick, parts; or first a processor: native, " PROCESSORS},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ir_target t = host(), before = t;
    ir_error error = {0};
    assert_int_equal(rt_target_override(&t, bad[i].setting, &error), IR_ERR_INVALID);
    assert_string_equal(error.text, bad[i].message);
    assert_memory_equal(&t, &before, sizeof t);
  }
}

/* A name sets every field, whatever stood there; settings behind it hold. A triple of another architecture
 * leaves nothing of the one before. */
static void processors_have_names(void **state) {
  ir_target a = host(), b = {0}, v3;
  ir_error error = {0};
  assert_int_equal(rt_target_override(&a, "x86-64-v3", &error), IR_OK);
  assert_int_equal(rt_target_override(&b, "x86-64-v3", &error), IR_OK);
  assert_memory_equal(&a, &b, sizeof a);
  assert_null(strstr(a.features, "avx512"));
  assert_int_equal(a.vector_bytes, 32);
  v3 = a;
  assert_int_equal(rt_target_override(&a, "native", &error), IR_OK);
  assert_memory_equal(&a, &v3, sizeof a);
  assert_int_equal(rt_target_override(&a, "x86-64-v4 l2=65536 registers=16", &error), IR_OK);
  assert_true(a.vector_bytes == 64 && a.registers == 16 && a.l2_bytes == 65536);
  assert_int_equal(rt_target_override(&b, "triple=aarch64-linux-gnu", &error), IR_OK);
  assert_string_equal(b.triple, "aarch64-linux-gnu");
  assert_null(strstr(b.features, "avx"));
  assert_int_equal(rt_target_override(&b, "triple=nowhere", &error), IR_OK);
  assert_string_equal(b.features, "");
  assert_false(b.has_fma);
}

/* What is measured is set by name; what decides more than how fast code runs is not. */
static void measured_settings(void **state) {
  ir_target t = host(), before = t;
  ir_error error = {0};
  assert_int_equal(rt_target_set_measured(&t, "l3=67108864 read_past=1 read_ahead=1 gather=1", &error),
                   IR_OK);
  assert_int_equal(t.l3_bytes, 64 << 20);
  assert_true(t.reads_past && t.reads_ahead && t.gathers);
  ir_text text;
  ir_text_init(&text, &ir_mem_libc);
  rt_target_measured_text(&t, &text);
  assert_string_equal(ir_text_get(&text), "l3=67108864 read_past=1 read_ahead=1 gather=1");
  ir_text_free(&text);
  static const char *const others[] = {"vector_bytes=16", "features=", "l2=4096",
                                       "parts=0",         "l3=3",      "l3=4096 fma=0"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    error = (ir_error){0};
    t = before;
    assert_int_equal(rt_target_set_measured(&t, others[i], &error), IR_ERR_INVALID);
    assert_memory_equal(&t, &before, sizeof t);
  }
}

/* A processor runs code for less than it has, and refuses more by name. */
static void runs_on_what_has_as_much(void **state) {
  static const char processor[] = "triple=x86_64-unknown-linux-gnu features=+avx2,+fma,+f16c vector_bytes=32 "
                                  "registers=16 fma=1 f16c=1 masks=1 dot2=1 l1=32768 l2=524288 l3=4194304";
  static const struct {
    const char *settings, *message; /* NULL: it runs */
  } rows[] = {
      {"", NULL},
      {"l1=65536 l2=16777216 l3=536870912 read_past=1 parts=0 local=4096 hoist=1", NULL},
      {"features=+f16c,+avx2", NULL},
      {"features= vector_bytes=16 fma=0 f16c=0 masks=0 dot2=0", NULL},
      {"features=+avx2,-fma", NULL},
      {"features=+avx2,+avx",
       "target: this processor cannot run code for '+avx' of features=; leave it out, or "
       "look at the code by `viewfold dump`"},
      {"features=+avx512f,+fma",
       "target: this processor cannot run code for '+avx512f' of features=; leave it "
       "out, or look at the code by `viewfold dump`"},
      {"vector_bytes=64", "target: this processor cannot run code for vector_bytes=64; it takes at most 32"},
      {"registers=32", "target: this processor cannot run code for registers=32; it takes at most 16"},
      {"lanes=64 local=32768", "target: this processor cannot run code for lanes=64; it takes 0"},
      {"triple=aarch64-unknown-linux-gnu",
       "target: this processor cannot run code for "
       "triple=aarch64-unknown-linux-gnu; it is x86_64-unknown-linux-gnu"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_target here = {0}, made_for;
    ir_error error = {0};
    assert_int_equal(rt_target_override(&here, processor, &error), IR_OK);
    made_for = here;
    assert_int_equal(rt_target_override(&made_for, rows[i].settings, &error), IR_OK);
    assert_int_equal(rt_target_runs_on(&made_for, &here, &error),
                     rows[i].message ? IR_ERR_UNSUPPORTED : IR_OK);
    if (rows[i].message) assert_string_equal(error.text, rows[i].message);
  }
}

UNIT_TESTS(host_is_plausible, host_agrees_with_the_compiler, aarch64_features_by_hwcap,
           host_is_the_same_every_time, text_parses_back, every_field_is_in_the_text,
           features_decide_about_products, bad_settings_are_refused, processors_have_names, measured_settings,
           runs_on_what_has_as_much)
