/* Relocations of each processor, on objects that LLVM makes: those of this machine are run, those of the
 * others linked; what an image cannot hold is refused with a reason, and so is what is damaged. */
#include <elf.h>

#include "runtime/image/image.h"
#include "test/lib/llvm_object.h"
#include "test/lib/unit.h"

#define ASM(text) "module asm \"" text "\"\n"

/* Functions that go to `target`, which adds 1, each in another way: their names, and their text for each
 * machine. */
static const char *const ways[] = {"target", "by_call", "by_jump", "by_table", "by_condition", "by_test"};
static const char *const to_target[OBJECT_MACHINES] = {
    [OBJECT_X86_64] = ASM("target: leal 1(%rdi), %eax; ret; .size target, .-target")
        ASM("by_call: push %rbx; call *target@GOTPCREL(%rip); pop %rbx; ret; .size by_call, .-by_call")
            ASM("by_jump: jmp *target@GOTPCREL(%rip); .size by_jump, .-by_jump")
                ASM("by_table: movq target@GOTPCREL(%rip), %r11; jmp *%r11; .size by_table, .-by_table")
                    ASM("by_condition: testl %edi, %edi; jne target; ud2; .size by_condition, .-by_condition")
                        ASM("by_test: testl $1, %edi; jne target@PLT; ud2; .size by_test, .-by_test"),
    [OBJECT_AARCH64] = ASM("target: add w0, w0, #1; ret; .size target, .-target")
        ASM("by_call: stp x29, x30, [sp, #-16]!; bl target; ldp x29, x30, [sp], #16; ret; .size by_call, "
            ".-by_call") ASM("by_jump: b target; .size by_jump, .-by_jump")
            ASM("by_table: adrp x9, :got:target; ldr x9, [x9, :got_lo12:target]; br x9; .size by_table, "
                ".-by_table")
                ASM("by_condition: cmp w0, #0; b.ne target; brk #1; .size by_condition, .-by_condition")
                    ASM("by_test: tbnz w0, #0, target; brk #1; .size by_test, .-by_test"),
    [OBJECT_RISCV64] = ASM("target: addiw a0, a0, 1; ret; .size target, .-target")
        ASM("by_call: addi sp, sp, -16; sd ra, 8(sp); call target; ld ra, 8(sp)")
            ASM("addi sp, sp, 16; ret; .size by_call, .-by_call")
                ASM("by_jump: c.j target; .size by_jump, .-by_jump")
                    ASM("by_table: auipc t1, %got_pcrel_hi(target); ld t1, %pcrel_lo(by_table)(t1); jr t1")
                        ASM(".size by_table, .-by_table") ASM(
                            "by_condition: bne a0, zero, target; unimp; .size by_condition, .-by_condition")
                            ASM("by_test: c.bnez a0, target; j target; .size by_test, .-by_test")};

/* f() follows offsets from one section of constants to another, more than 64 KiB away. */
#define FAR_CONSTANTS                                                                                        \
  ASM(".section .rodata.a, \\22a\\22; .p2align 5; .byte 1; .p2align 5")                                      \
  ASM("there: .long answer-there")                                                                           \
  ASM(".section .rodata.b, \\22a\\22; .fill 70001,1,0; .p2align 6; answer: .long 4711")                      \
  ASM(".section .rodata.c, \\22a\\22; .quad answer-.")
static const char *const to_constants[OBJECT_MACHINES] = {
    [OBJECT_X86_64] =
        ASM("f: leaq there(%rip), %rax; movslq (%rax), %rcx; addq %rcx, %rax; movl (%rax), %eax")
            ASM("ret; .size f, .-f; .fill 70000, 1, 0x90") FAR_CONSTANTS,
    [OBJECT_AARCH64] = ASM("f: adrp x0, there; add x0, x0, :lo12:there; ldrsw x1, there; add x0, x0, x1") ASM(
        "adr x1, answer; sub x1, x1, x0; ldr w0, [x0]; add w0, w0, w1; adrp x1, answer; ldr w1, [x1, "
        ":lo12:answer]") ASM("sub w1, w1, w0; sub w0, w0, w1; ret; .size f, .-f; .fill 17500, 4, 0xd503201f")
        FAR_CONSTANTS,
    [OBJECT_RISCV64] =
        ASM("f: auipc a0, %pcrel_hi(there); addi a0, a0, %pcrel_lo(f); lw a1, 0(a0); add a0, a0, a1")
            ASM("lw a0, 0(a0); ret; .size f, .-f; .fill 70000, 1, 0") FAR_CONSTANTS};

#define FUNCTION(name) ASM(".globl " name "; .type " name ",@function")
#define WAYS                                                                                                 \
  FUNCTION("target")                                                                                         \
  FUNCTION("by_call") FUNCTION("by_jump") FUNCTION("by_table") FUNCTION("by_condition") FUNCTION("by_test")

static ir_status link_object(object o, rt_flat *flat, ir_error *error) {
  return rt_image_link(o.bytes, o.size, (rt_terms){0}, &ir_mem_libc, flat, error);
}

/* The image of a module of declarations of functions, and their text. */
static rt_flat link_text(object_machine machine, const char *declarations, const char *body) {
  size_t room = strlen(declarations) + strlen(body) + 1;
  char *text = malloc(room);
  snprintf(text, room, "%s%s", declarations, body);
  object o = object_compile(machine, text);
  rt_flat flat;
  ir_error error = {0};
  ir_status status = link_object(o, &flat, &error);
  assert_string_equal(error.text, "");
  assert_int_equal(status, IR_OK);
  free(o.bytes);
  free(text);
  return flat;
}

static rt_code map_and_free(rt_flat flat) {
  rt_code code;
  ir_error error = {0};
  assert_int_equal(rt_image_map(flat.bytes, flat.size, &code, &error), IR_OK);
  rt_flat_free(&ir_mem_libc, &flat);
  return code;
}

static void goes_everywhere(void **state) {
  if (OBJECT_HOST == OBJECT_MACHINES) skip();
  rt_code code = map_and_free(link_text(OBJECT_HOST, WAYS, to_target[OBJECT_HOST]));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    int (*f)(int) = (int (*)(int))rt_code_find(&code, ways[i]);
    assert_non_null(f);
    assert_int_equal(f(41), 42);
  }
  rt_image_unmap(&code);
}

static void far_constants_are_reached(void **state) {
  if (OBJECT_HOST == OBJECT_MACHINES) skip();
  rt_code code = map_and_free(link_text(OBJECT_HOST, FUNCTION("f"), to_constants[OBJECT_HOST]));
  int (*f)(void) = (int (*)(void))rt_code_find(&code, "f");
  assert_int_equal(f(), 4711);
  rt_image_unmap(&code);
}

static void other_machines_are_linked(void **state) {
  for (int machine = 0; machine < OBJECT_MACHINES; machine++) {
    rt_flat a = link_text(machine, WAYS, to_target[machine]),
            b = link_text(machine, FUNCTION("f"), to_constants[machine]);
    rt_entry entry;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      assert_true(rt_image_find(a.bytes, a.size, ways[i], &entry));
    assert_true(rt_image_find(b.bytes, b.size, "f", &entry));
    rt_flat_free(&ir_mem_libc, &a);
    rt_flat_free(&ir_mem_libc, &b);
  }
}

#define NEEDS_POSITION "; code must be position-independent"

static void refuses_with_a_reason(void **state) {
  static const struct {
    object_machine machine;
    const char *ir, *why;
  } rows[] = {
      {OBJECT_X86_64, "@p = constant ptr @f\ndefine void @f() {\n ret void\n}\n",
       "R_X86_64_64 against 'f' needs an absolute address"},
      {OBJECT_X86_64, ASM("f: movl $f, %eax"), "R_X86_64_32 against '.text' needs an absolute address"},
      {OBJECT_X86_64, ASM(".globl f; f: cmpq f@GOTPCREL(%rip), %rax"),
       "R_X86_64_REX_GOTPCRELX against 'f' is on an instruction that needs a table outside the image"},
      {OBJECT_X86_64, ASM(".globl f; f: vmovups f@GOTPCREL(%rip), %xmm0"),
       "R_X86_64_GOTPCREL against 'f' needs a table outside the image"},
      {OBJECT_X86_64, ASM(".globl f; f: leaq f+0x7ffffff0(%rip), %rax; nop; leaq f-0x7fffffff(%rip), %rax"),
       "R_X86_64_PC32 against 'f' is out of reach"},
      {OBJECT_AARCH64, "@p = constant ptr @f\ndefine void @f() {\n ret void\n}\n",
       "R_AARCH64_ABS64 against 'f' needs an absolute address"},
      {OBJECT_AARCH64, ASM(".globl f; f: movz x0, #:abs_g1:f"),
       "R_AARCH64_MOVW_UABS_G1 against 'f' needs an absolute address"},
      {OBJECT_AARCH64, ASM(".globl f; f: ldr x0, :got:f"),
       "R_AARCH64_GOT_LD_PREL19 against 'f' needs a table outside the image"},
      {OBJECT_AARCH64, ASM(".globl f; f: adr x0, f+0x100000"),
       "R_AARCH64_ADR_PREL_LO21 against 'f' is out of reach"},
      {OBJECT_AARCH64, ASM(".globl f; f: adrp x0, f+0x100000"),
       "R_AARCH64_ADR_PREL_PG_HI21 against 'f' is out of reach"},
      {OBJECT_AARCH64, ASM(".globl f; f: tbz x0, #1, f+0x8000"),
       "R_AARCH64_TSTBR14 against 'f' is out of reach"},
      {OBJECT_AARCH64, ASM(".globl f; f: cbz x0, f+0x100000"),
       "R_AARCH64_CONDBR19 against 'f' is out of reach"},
      {OBJECT_AARCH64, ASM(".globl f; f: bl f+0x8000000"), "R_AARCH64_CALL26 against 'f' is out of reach"},
      {OBJECT_AARCH64, ASM(".globl f; f: ldr x0, [x0, :lo12:f+4]"),
       "R_AARCH64_LDST64_ABS_LO12_NC against 'f' is to an address that its instruction cannot have"},
      {OBJECT_AARCH64, ASM(".globl f; f: nop; .reloc f, R_AARCH64_CALL26, f"),
       "R_AARCH64_CALL26 against 'f' is on an instruction that it is not meant for"},
      {OBJECT_RISCV64, "@p = constant ptr @f\ndefine void @f() {\n ret void\n}\n",
       "R_RISCV_64 against 'f' needs an absolute address"},
      {OBJECT_RISCV64, ASM(".globl f; f: lui a0, %hi(f)"),
       "R_RISCV_HI20 against 'f' needs an absolute address"},
      {OBJECT_RISCV64, ASM(".globl f; f: auipc a0, %tls_gd_pcrel_hi(f)"),
       "symbol 'f' needs a full loader (thread-local)"},
      {OBJECT_RISCV64, ASM(".globl f; f: auipc a0, %got_pcrel_hi(f); addi a0, a0, %pcrel_lo(f)"),
       "R_RISCV_PCREL_LO12_I against 'f' is on an instruction that needs a table outside the image"},
      {OBJECT_RISCV64, ASM(".globl f; f: addi a0, a1, 1; .reloc f, R_RISCV_PCREL_LO12_I, f"),
       "R_RISCV_PCREL_LO12_I against 'f' is the lower part of nothing"},
      {OBJECT_RISCV64, ASM(".globl f; f: jal a0, f; g: addi a0, a1, 1; .reloc g, R_RISCV_PCREL_LO12_I, f"),
       "R_RISCV_PCREL_LO12_I against 'f' is the lower part of something else"},
      {OBJECT_RISCV64, ASM(".globl f; f: jal a0, f+0x100000"), "R_RISCV_JAL against 'f' is out of reach"},
      {OBJECT_RISCV64, ASM(".globl f; f: auipc a0, %pcrel_hi(f+0x7fffffff)"),
       "R_RISCV_PCREL_HI20 against 'f' is out of reach"},
      {OBJECT_RISCV64, ASM(".globl f; f: .word 0; .reloc f, R_RISCV_ADD32, f"),
       "R_RISCV_ADD32 against 'f' adds an address from which none is subtracted"},
      {OBJECT_RISCV64, ASM(".globl f; f: .word 0; .reloc f, R_RISCV_SUB32, f"),
       "R_RISCV_SUB32 against 'f' subtracts from nothing"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    object o = object_compile(rows[i].machine, rows[i].ir);
    rt_flat flat;
    ir_error error = {0};
    char message[300];
    bool of_symbol = !strncmp(rows[i].why, "symbol", 6);
    snprintf(message, sizeof message, "linking: %s%s%s", of_symbol ? "" : "relocation ", rows[i].why,
             of_symbol ? "" : NEEDS_POSITION);
    ir_status status = link_object(o, &flat, &error);
    assert_string_equal(error.text, message);
    assert_int_equal(status, IR_ERR_COMPILE);
    assert_null(flat.bytes);
    free(o.bytes);
  }
}

/* ---- damage */

/* Calls `try` with each relocation of the code and constants of a copy of the object; the function may change
 * it. */
static void each_relocation(object_machine machine,
                            void (*try)(object_machine, object, Elf64_Rela *, Elf64_Shdr)) {
  object o = object_compile(machine, object_of_all_kinds);
  object copy = {malloc(o.size), o.size};
  Elf64_Ehdr head;
  memcpy(&head, o.bytes, sizeof head);
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(o.bytes + head.e_shoff);
  const char *names = (const char *)o.bytes + sections[head.e_shstrndx].sh_offset;
  for (int i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr home = sections[sections[i].sh_info % head.e_shnum];
    if (sections[i].sh_type != SHT_RELA || !(home.sh_flags & SHF_ALLOC) ||
        strstr(names + home.sh_name, "eh_frame"))
      continue;
    for (size_t at = 0; at < sections[i].sh_size; at += sizeof(Elf64_Rela)) {
      memcpy(copy.bytes, o.bytes, o.size);
      try(machine, copy, (Elf64_Rela *)(copy.bytes + sections[i].sh_offset + at), home);
    }
  }
  free(copy.bytes);
  free(o.bytes);
}

enum { MESSAGE = sizeof((ir_error *)NULL)->text };

/* Links what has become of the object; a refusal says why, and names what it is about. */
static ir_status outcome(object o, char message[MESSAGE]) {
  rt_flat flat;
  ir_error error = {0};
  ir_status status = link_object(o, &flat, &error);
  assert_int_equal(status == IR_OK, flat.bytes != NULL);
  assert_int_equal(status == IR_OK, error.text[0] == 0);
  assert_true(status == IR_OK || status == IR_ERR_COMPILE);
  snprintf(message, MESSAGE, "%s", error.text);
  ir_error_clear(&error);
  rt_flat_free(&ir_mem_libc, &flat);
  return status;
}

static int seen[OBJECT_MACHINES], refused_types[OBJECT_MACHINES];

static void damage(object_machine machine, object o, Elf64_Rela *r, Elf64_Shdr home) {
  static const uint32_t absolute[] = {R_X86_64_64, R_AARCH64_ABS64, R_RISCV_64};
  char message[MESSAGE];
  Elf64_Rela good = *r;
  uint32_t type = ELF64_R_TYPE(good.r_info), symbol = ELF64_R_SYM(good.r_info);
  assert_int_equal(outcome(o, message), IR_OK);
  seen[machine]++;

  r->r_info = ELF64_R_INFO(0xffffffu, type);
  assert_int_equal(outcome(o, message), IR_ERR_COMPILE);
  assert_non_null(strstr(message, "is damaged: a relocation names no symbol"));
  r->r_info = ELF64_R_INFO(symbol, absolute[machine]);
  assert_int_equal(outcome(o, message), IR_ERR_COMPILE);
  assert_non_null(strstr(message, "needs an absolute address"));
  r->r_info = ELF64_R_INFO(symbol, 0xfff0);
  assert_int_equal(outcome(o, message), IR_ERR_COMPILE);
  assert_non_null(strstr(message, "linking: relocation type 65520 against '"));
  *r = good;
  static const uint64_t outside[] = {0, 1, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
    r->r_offset = i < 2 ? home.sh_size - outside[i] : outside[i];
    assert_int_equal(outcome(o, message), IR_ERR_COMPILE);
  }
  *r = good;
  bool is_low = machine == OBJECT_AARCH64   ? type >= R_AARCH64_ADD_ABS_LO12_NC && type != R_AARCH64_CALL26
                : machine == OBJECT_RISCV64 ? type == R_RISCV_PCREL_LO12_I
                                            : false;
  r->r_addend = INT64_C(1) << 40;
  if (!is_low) {
    assert_int_equal(outcome(o, message), IR_ERR_COMPILE);
    assert_non_null(strstr(message, "is out of reach"));
  }
  *r = good;
  for (uint32_t other = 0; other < 1100; other++) { /* all that are given out, and more */
    r->r_info = ELF64_R_INFO(symbol, other);
    refused_types[machine] += outcome(o, message) != IR_OK;
  }
}

static void damaged_relocations_are_refused(void **state) {
  for (int machine = 0; machine < OBJECT_MACHINES; machine++) {
    each_relocation(machine, damage);
    assert_true(seen[machine] >= 4);
    /* few of the types fit an instruction that is meant for another one */
    assert_true(refused_types[machine] > seen[machine] * 1080);
  }
}

UNIT_TESTS_BETWEEN(object_start, object_stop, goes_everywhere, far_constants_are_reached,
                   other_machines_are_linked, refuses_with_a_reason, damaged_relocations_are_refused)
