/* Objects by the C API: vf_build, and vf_options.target. */
#include <elf.h>
#include <string.h>

#include "frontend/viewfold.h"
#include "test/lib/object.h"
#include "test/lib/unit.h"

static vf_context *context(const char *target, vf_error *error) {
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK, .target = target};
  return vf_context_create(&options, error);
}

/* y = softmax(x * w), with w in the object. */
static vf_graph *layer(vf_context *c) {
  static const float w[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  vf_graph *g = vf_graph_create(c, "layer", NULL);
  vf_value x = vf_input(g, "x", VF_F32, VF_LIST(2, 3));
  vf_output(g, "y", vf_softmax(vf_matmul(x, vf_data(g, VF_F32, VF_LIST(3, 4), w)), 1));
  return g;
}

static const float input[6] = {0.1f, 0.2f, 0.3f, -1, 0.5f, 0};

static void an_object_computes_what_the_program_does(void **state) {
  vf_error error = {0};
  ir_error failure = {0};
  vf_context *c = context(NULL, &error);
  vf_graph *g = layer(c);
  float want[8], got[8];
  size_t size;
  built_object linked;
  vf_program *program = vf_compile(g, &error);
  vf_object *object =
      vf_build(g, &(vf_build_options){.size = sizeof(vf_build_options), .name = "mine"}, &error);
  assert_non_null(program);
  assert_non_null(object);
  vf_graph_destroy(g);
  const void *bytes = vf_object_bytes(object, &size);
  int64_t arena = built_object_constant(vf_object_header(object), "mine_ARENA_BYTES");
  assert_int_equal(built_object_constant(vf_object_header(object), "mine_y_SIZE1"), 4);
  assert_true(built_object_link(bytes, size, "mine", NULL, &linked, &failure));
  assert_int_equal(vf_program_run(program, (const void *[]){input}, (void *[]){want}, NULL, &error), VF_OK);
  assert_int_equal(built_object_run(&linked, (void *[]){(void *)(uintptr_t)input, got}, NULL, arena, 1), 0);
  assert_memory_equal(want, got, sizeof want);
  rt_image_unmap(&linked.code);
  vf_object_destroy(object);
  vf_program_destroy(program);
  vf_context_destroy(c);
}

/* How often a text holds another. */
static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)); text++) count++;
  return count;
}

/* What is computed from constants alone is data of the model; the constants themselves, which nothing else
 * reads, are not. */
static void a_c_file_has_the_data_that_it_reads(void **state) {
  enum { N = 64 };
  static float w[N * N];
  vf_error error = {0};
  vf_context *c = context(NULL, &error);
  vf_graph *g = vf_graph_create(c, "doubled", NULL);
  for (int i = 0; i < N * N; i++) w[i] = (float)(i + 1);
  vf_value doubled =
      vf_stored(vf_add(vf_data(g, VF_F32, VF_LIST(N, N), w), vf_data(g, VF_F32, VF_LIST(N, N), w)));
  vf_output(g, "y", vf_mul(vf_input(g, "x", VF_F32, VF_LIST(N, N)), doubled));
  vf_object *object = vf_build(g, &(vf_build_options){.size = sizeof(vf_build_options), .c = true}, &error);
  if (!object) fail_msg("%s", error.message);
  const char *text = vf_object_bytes(object, NULL);
  assert_int_equal(count_of(text, "static const _Alignas("), 1);
  assert_int_equal(count_of(text, "UINT64_C(0x4080000040000000)"), 1); /* 2 and 4 as float */
  assert_int_equal(count_of(text, "UINT64_C(0x400000003f800000)"), 0); /* 1 and 2 */
  vf_object_destroy(object);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static void the_target_is_the_objects(void **state) {
  static const struct {
    const char *target;
    unsigned machine;
  } rows[] = {{"aarch64", EM_AARCH64},
              {"riscv64", EM_RISCV},
              {"x86-64-v2", EM_X86_64},
              {"loongarch64", EM_LOONGARCH},
              {"triple=powerpc64le-unknown-linux-gnu", EM_PPC64}};
  vf_error error = {0};
  vf_context *c = context(NULL, &error);
  vf_graph *g = layer(c);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Elf64_Ehdr head;
    vf_object *object =
        vf_build(g, &(vf_build_options){.size = sizeof(vf_build_options), .target = rows[i].target}, &error);
    assert_non_null(object);
    memcpy(&head, vf_object_bytes(object, NULL), sizeof head);
    assert_int_equal(head.e_machine, rows[i].machine);
    assert_int_equal(head.e_type, ET_REL);
    vf_object_destroy(object);
  }
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static void what_cannot_be_built_is_refused(void **state) {
  static const struct {
    vf_build_options options;
    vf_status status;
    const char *message;
  } rows[] = {
      {{.size = 1}, VF_ERR_INVALID, "build: the size of the options is 1"},
      {{.size = sizeof(vf_build_options), .name = "a-b"},
       VF_ERR_INVALID,
       "build: the name a-b is no C identifier"},
      {{.size = sizeof(vf_build_options), .target = "x86-64-v9"},
       VF_ERR_INVALID,
       "target: 'x86-64-v9' is not a setting"},
      {{.size = sizeof(vf_build_options), .target = "triple=s390x-linux-gnu"},
       VF_ERR_UNSUPPORTED,
       "is big-endian"},
      {{.size = sizeof(vf_build_options), .target = "triple=pdp11-dec-bsd"},
       VF_ERR_COMPILE,
       "LLVM cannot make code for pdp11"},
      {{.size = sizeof(vf_build_options), .target = "triple=bpfel-unknown-none"},
       VF_ERR_UNSUPPORTED,
       "compile: no code is made for bpfel-unknown-none: the architectures are x86_64,"},
      {{.size = sizeof(vf_build_options), .target = "x86-64-v2,x86-64-v4", .c = true},
       VF_ERR_UNSUPPORTED,
       "build: a C file is compiled for one processor; give one target, or build an object"},
  };
  vf_error error = {0};
  vf_context *c = context(NULL, &error);
  vf_graph *g = layer(c);
  assert_null(vf_build(NULL, NULL, &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_null(vf_build(g, &rows[i].options, &error));
    assert_int_equal(error.status, rows[i].status);
    if (!strstr(error.message, rows[i].message)) fail_msg("no '%s' in '%s'", rows[i].message, error.message);
  }
  vf_mesh *mesh = vf_mesh_create(c, "x=2", &error);
  assert_int_equal(vf_graph_set_mesh(g, mesh, &error), VF_OK);
  assert_null(vf_build(g, NULL, &error));
  assert_int_equal(error.status, VF_ERR_UNSUPPORTED);
  vf_mesh_destroy(mesh);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

static void a_context_has_a_target(void **state) {
  vf_error error = {0};
  assert_null(context("x86-64-v9", &error));
  assert_int_equal(error.status, VF_ERR_INVALID);
  assert_null(context("aarch64 lanes=64", &error));
  assert_int_equal(error.status, VF_ERR_UNSUPPORTED);
  vf_context *c = context("x86-64-v2", &error);
  if (!c) skip(); /* another architecture */
  vf_graph *g = layer(c);
  float y[8], sum = 0;
  char *text = vf_graph_dump(g, "asm", &error);
  vf_program *program = vf_compile(g, &error);
  assert_non_null(text);
  assert_null(strstr(text, "%ymm"));
  assert_int_equal(vf_program_run(program, (const void *[]){input}, (void *[]){y}, NULL, &error), VF_OK);
  for (int i = 0; i < 4; i++) sum += y[i];
  assert_true(sum > 0.99f && sum < 1.01f);
  vf_text_free(c, text);
  vf_program_destroy(program);
  vf_graph_destroy(g);
  vf_context_destroy(c);
}

UNIT_TESTS(an_object_computes_what_the_program_does, a_c_file_has_the_data_that_it_reads,
           the_target_is_the_objects, what_cannot_be_built_is_refused, a_context_has_a_target)
