"""Every function of the C API with handles that are none: none of these calls may end the process.

  handle_calls.py --build DIR [--only NAME]

Each function of the headers is called with arguments that are all 0; then, for each handle that it takes and each of NULL, a
destroyed one, and one of another kind, with that and otherwise good handles. Each call is a process of its own. The C program
that does so is made from the headers' prototypes, so that a new function is called without a change here. A destroyed handle's
memory may be another handle by then, which no function can tell: here nothing is made after it is destroyed. Needs cc; skipped
without.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from arguments import arguments

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HANDLES = ["vf_context", "vf_graph", "vf_program", "vf_tensor", "vf_jit", "vf_mesh"]
VALUES = {"vf_value": "graph", "vf_ref": "target.graph"}  # what of them is a handle
STATES = ["NULL", "that was destroyed", "of another kind"]
PROTOTYPE = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)\s+([^;{}]*?)\b(vf_\w+)\(([^;{}]*)\)\s*'
                       r'(?:__attribute__[^;]*)?;')
WORLD = r"""
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define VF_NO_PLACES
#include "viewfold.h"

typedef struct handles {
  vf_context *vf_context;
  vf_graph *vf_graph;
  vf_program *vf_program; /* compiled where asked for: that takes milliseconds */
  vf_tensor *vf_tensor;
  vf_jit *vf_jit;
  vf_mesh *vf_mesh;
  vf_value vf_value;
  vf_ref vf_ref;
} handles;

static vf_error error;

static handles make(bool compiled) {
  handles h = {0};
  vf_options options = {.size = sizeof options, .flags = VF_NO_DISK};
  h.vf_context = vf_context_create(&options, &error);
  h.vf_graph = vf_graph_create(h.vf_context, "g", &error);
  h.vf_ref = vf_ref_input(h.vf_graph, "r", VF_F32, VF_LIST(2));
  h.vf_value = vf_input(h.vf_graph, "x", VF_F32, VF_LIST(2));
  vf_output(h.vf_graph, "y", vf_neg(h.vf_value));
  h.vf_mesh = vf_mesh_create(h.vf_context, "x=2", &error);
  h.vf_tensor = vf_tensor_create(h.vf_context, VF_F32, VF_LIST(2), (const float[]){1, 2}, &error);
  if (!compiled) return h;
  vf_graph *constant = vf_graph_create(h.vf_context, "h", &error);
  vf_output(constant, "y", vf_number(constant, 1));
  h.vf_program = vf_compile(constant, &error);
  vf_graph_destroy(constant);
  return h;
}

static handles end(handles h) {
  vf_program_destroy(h.vf_program);
  vf_tensor_release(h.vf_tensor);
  vf_mesh_destroy(h.vf_mesh);
  vf_graph_destroy(h.vf_graph);
  vf_context_destroy(h.vf_context);
  return h;
}

/* Calls the function in a process of its own; at: which argument is no good handle, -1: all are 0. */
static int call(const char *name, void (*function)(int, int), int at, int state, const char *const *states) {
  int status = 0;
  fflush(stdout);
  pid_t pid = fork();
  if (!pid) {
    alarm(60); /* a call that never ends */
    function(at, state);
    _exit(0);
  }
  waitpid(pid, &status, 0);
  if (!status) return 0;
  printf("%s with ", name);
  if (at < 0) printf("arguments that are all 0");
  else printf("argument %d %s", at + 1, states[state]);
  printf(": signal %d\n", WTERMSIG(status));
  return 1;
}
"""


def prototypes():
    """(type of the result, name, parameters) of each function"""
    text = subprocess.run(["cc", "-E", "-P", "-DVF_NO_PLACES", "-include", os.path.join(ROOT, "frontend", "viewfold.h"), "-x", "c",
                           os.devnull], capture_output=True, text=True, check=True).stdout
    return PROTOTYPE.findall(text)


def types_of(parameters):
    """The types of parameters, whose names are left out."""
    for text in re.sub(r"\([^()]*\)", "()", parameters).split(","):
        text = " ".join(text.split())
        if text == "void":
            continue
        if "(" in text:
            yield "void *"
        elif "[" in text:
            yield re.sub(r"\w*\s*\[.*$", "*", text)
        else:
            yield re.sub(r"(?<=[\s*])\w+$", "", text).strip()


def handle_of(kind):
    """The member of `handles` that is of the type; None: it has none."""
    pointed = re.fullmatch(r"(?:const )?(\w+) ?\*(?: const)?", kind)
    if pointed and pointed.group(1) in HANDLES:
        return pointed.group(1)
    return kind if kind in VALUES else None


def declaration(i, kind):
    member = handle_of(kind)
    if member in HANDLES:
        other = "vf_graph" if member != "vf_graph" else "vf_context"
        return f"{kind} a{i} = at != {i} ? good.{member} : state == 0 ? NULL : state == 1 ? gone.{member} : (void *)good.{other};"
    if member:
        return (f"{kind} a{i} = at != {i} || state == 2 ? good.{member} : state == 1 ? gone.{member} : ({kind}){{0}};\n"
                f"  if (at == {i} && state == 2) a{i}.{VALUES[member]} = (void *)good.vf_context;")
    if kind == "vf_error *":
        return f"{kind} a{i} = at < 0 ? NULL : &error;"
    return f"{kind} a{i};\n  memset((void *)&a{i}, 0, sizeof a{i});"


def function_of(name, kinds):
    compiled = "true" if "vf_program" in [handle_of(k) for k in kinds] else "false"
    body = [declaration(i, kind) for i, kind in enumerate(kinds)]
    return "\n  ".join([f"static void call_{name}(int at, int state) {{", "handles good = {0}, gone = {0};",
                        f"if (at >= 0) good = make({compiled});", f"if (at >= 0 && state == 1) gone = end(make({compiled}));",
                        "(void)good, (void)gone;", *body,
                        f"{name}({', '.join(f'a{i}' for i in range(len(kinds)))});"]) + "\n}\n"


def program(only):
    functions, calls = [], []
    for _, name, parameters in prototypes():
        if only not in name or "..." in parameters:
            continue
        kinds = list(types_of(parameters))
        functions.append(function_of(name, kinds))
        calls.append((name, -1, 0))
        calls += [(name, i, s) for i, kind in enumerate(kinds) if handle_of(kind) for s in range(len(STATES))]
    states = ", ".join(f'"{s}"' for s in STATES)
    lines = [f'  bad += call("{name}", call_{name}, {i}, {s}, states);' for name, i, s in calls]
    main = ["int main(void) {", f"  static const char *const states[] = {{{states}}};", "  int bad = 0;", *lines,
            f'  printf("handle_calls: %d passed, %d failed\\n", {len(calls)} - bad, bad);', "  return bad != 0;", "}"]
    return "\n".join([WORLD, *functions, *main, ""])


def main():
    options = arguments(others=True, only="")
    if not shutil.which("cc"):
        print("skip: handle_calls needs cc")
        sys.exit(77)
    build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as folder:
        source, calls = os.path.join(folder, "calls.c"), os.path.join(folder, "calls")
        with open(source, "w", encoding="utf-8") as out:
            out.write(program(options.only))
        subprocess.run(["cc", "-w", "-O0", "-I", os.path.join(ROOT, "frontend"), source, "-o", calls,
                        os.path.join(build, "libviewfold.so.0"), f"-Wl,-rpath,{build}"], check=True)
        sys.exit(subprocess.run([calls]).returncode)


if __name__ == "__main__":
    main()
