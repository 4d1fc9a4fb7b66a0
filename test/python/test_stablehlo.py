"""Programs of StableHLO: texts of the tree against results that are kept with them, and functions of JAX, where it is installed.

    python test/python/test_stablehlo.py --write    # the texts and results in stablehlo/, by JAX
"""

import json
import os
import re
import sys
import tempfile

import unittest

from common import Case, np, vf

import viewfold.stablehlo as stablehlo

try:
    import jax
except ImportError:
    jax = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stablehlo")
KEPT = ("arithmetic", "error function", "reductions", "extrema", "written", "taken", "sorted pairs", "padded between", "pools", "newton",
        "scan", "gradient of a scan", "switch", "dilated convolution", "gradient of a pool", "training step", "truth constants")
HEADER = "module @m {\n"


def module(parameters, body, results):
    return f"{HEADER}  func.func public @main({parameters}) -> ({results}) {{\n{body}\n  }}\n}}\n"


def compared(case, have, want, name):
    """Floats within 2e-5 of the largest, all else exactly."""
    have, want = np.asarray(have), np.asarray(want)
    case.assertEqual((have.shape, have.dtype), (want.shape, want.dtype), name)
    if want.dtype.kind == "f" or want.dtype.name == "bfloat16":
        have, want = have.astype("float64"), want.astype("float64")
        finite = np.abs(want[np.isfinite(want)])
        np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-5 * max(1, finite.max(initial=0)), err_msg=name)
    else:
        np.testing.assert_array_equal(have, want, name)


def as_list(a):
    a = np.asarray(a)
    short = [float(str(v)) for v in a.ravel()] if a.dtype.kind == "f" else a.ravel().tolist()
    return {"dtype": str(a.dtype), "shape": a.shape, "elements": short}


def as_array(kept):
    return np.array(kept["elements"], kept["dtype"]).reshape(kept["shape"])


class Texts(Case):
    def test_kept(self):
        """Texts as JAX wrote them give what JAX gave."""
        with open(os.path.join(FOLDER, "results.json"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual(sorted(kept), sorted(KEPT))
        for name, arrays in kept.items():
            with open(os.path.join(FOLDER, name.replace(" ", "_") + ".mlir"), encoding="utf-8") as file:
                loaded = stablehlo.load(file.read())
            made = loaded(*map(as_array, arrays["arguments"]))
            made = made if isinstance(made, tuple) else (made,)
            self.assertEqual(len(made), len(arrays["results"]))
            for have, want in zip(made, arrays["results"]):
                compared(self, have, as_array(want), name)

    def test_saved(self):
        """As a graph, with its constants in a file beside it."""
        numbers = ", ".join(str(float(n)) for n in range(600))
        text = module('%arg0: tensor<600xf32> loc("x")', f"    %0 = stablehlo.constant dense<[{numbers}]> : tensor<600xf32>\n"
                      "    %1 = stablehlo.add %arg0, %0 : tensor<600xf32>\n    return %1 : tensor<600xf32>", "tensor<600xf32>")
        loaded = stablehlo.load(text)
        self.assertEqual((loaded.inputs, loaded.input_types, loaded.output_types), (("x",), ("f32[600]",), ("f32[600]",)))
        with tempfile.TemporaryDirectory() as folder:
            loaded.save(os.path.join(folder, "f.vf"))
            self.assertEqual(sorted(os.listdir(folder)), ["f.safetensors", "f.vf"])
            self.close(vf.load_program(os.path.join(folder, "f.vf"))(np.ones(600, "f")), np.arange(600) + 1)

    def test_in_functions(self):
        """Inside of what is compiled, derived and mapped."""
        text = module("%arg0: tensor<3xf32>", "    %0 = stablehlo.sine %arg0 : tensor<3xf32>\n    return %0 : tensor<3xf32>", "tensor<3xf32>")
        loaded = stablehlo.load(text)
        x = np.array([0.5, 1, 2], "f")
        self.close(vf.jit(lambda x: loaded(x) * 2)(x), np.sin(x) * 2)
        self.close(vf.grad(lambda x: loaded(x).sum())(x), np.cos(x))
        self.close(vf.vmap(loaded)(np.stack([x, x + 1])), np.sin(np.stack([x, x + 1])))
        self.close(loaded(arg0=x) if "arg0" in loaded.inputs else loaded(x0=x), np.sin(x))

    def test_generic_form(self):
        """As tools of MLIR print what they know nothing of."""
        text = module("%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>",
                      '    %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = '
                      "[1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n"
                      '    %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>\n'
                      '    %2 = "stablehlo.compare"(%1, %1) <{comparison_direction = #stablehlo<comparison_direction LE>}> : '
                      "(tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xi1>\n"
                      '    "func.return"(%1, %2) : (tensor<4x2xf32>, tensor<4x2xi1>) -> ()', "tensor<4x2xf32>, tensor<4x2xi1>")
        a, b = np.arange(6, dtype="f").reshape(2, 3), np.arange(12, dtype="f").reshape(3, 4)
        y, truth = stablehlo.load(text)(a, b)
        self.close(y, (a @ b).T)
        self.assertTrue(np.asarray(truth).all())

    def test_constants(self):
        """Of one element, of bits, of bytes, of nothing."""
        rows = ("dense<0xFF800000> : tensor<2xf32>", 'dense<"0x0000803F00000040"> : tensor<2xf32>', "dense<[true, false]> : tensor<2xi1>",
                "dense<[1.5, 0x3F80]> : tensor<2xbf16>", "dense<> : tensor<0xi32>", "dense<[[1], [-2]]> : tensor<2x1xi8>")
        body = "".join(f"    %{n} = stablehlo.constant {row}\n" for n, row in enumerate(rows))
        types = ", ".join(row.rpartition(" : ")[2] for row in rows)
        body += "    return " + ", ".join(f"%{n}" for n in range(len(rows))) + f" : {types}"
        made = stablehlo.load(module("", body, types))()
        wanted = ([-np.inf] * 2, [1, 2], [True, False], [1.5, 1], np.zeros(0), [[1], [-2]])
        for have, want in zip(made, wanted):
            np.testing.assert_array_equal(np.asarray(have.astype("float32")), np.asarray(want, "float32"))

    def test_messages(self):
        """What is not covered is named, with the line."""
        x = "%arg0: tensor<3xf32>"
        of_x = ": (tensor<3xf32>) -> tensor<3xf32>\n    return %0 : tensor<3xf32>"
        for body, parameters, wrong, message in (
                (f"    %0 = stablehlo.custom_call @lapack_sgetrf_ffi(%arg0) {{}} {of_x}", x, vf.UnsupportedError,
                 "stablehlo: line 3: stablehlo.custom_call: lapack_sgetrf_ffi, a function of XLA's that no text says what it computes"),
                (f"    %0 = stablehlo.fft %arg0, type = FFT, length = [3] {of_x}", x, vf.UnsupportedError,
                 "stablehlo: line 3: stablehlo.fft: there is no row for it; docs/jax.md lists what is covered"),
                (f"    %0 = stablehlo.transpose %arg0, dims = [0] : (tensor<3xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>", x,
                 vf.InvalidError, "stablehlo: line 3: stablehlo.transpose gives f32[3], and the text says f32[4]"),
                ("    return %arg0 : tensor<?xf32>", "%arg0: tensor<?xf32>", vf.InvalidError,
                 "stablehlo: line 2: tensor<?xf32> has a size that varies; export for arrays whose shapes are numbers"),
                ("    return %arg0 : tensor<3xcomplex<f32>>", "%arg0: tensor<3xcomplex<f32>>", vf.InvalidError,
                 "stablehlo: line 2: elements of tensor<3xcomplex<f32>>; takes bool, integers of 8 to 64 bits, f16, bf16, f32 and f64"),
                ("    return %arg0 : !stablehlo.token", "%arg0: !stablehlo.token", vf.InvalidError,
                 "stablehlo: line 2: a value of the type !stablehlo.token; takes tensors"),
                ("    %0 = ; %arg0", x, vf.InvalidError, "stablehlo: line 3: ';"),
                ("    %0 = (%arg0)", x, vf.InvalidError, "stablehlo: line 3: found '(', expected an operation")):
            with self.assertRaises(wrong, msg=message) as caught:
                stablehlo.load(module(parameters, body, "tensor<3xf32>" if "?" not in body else "tensor<?xf32>"))
            self.assertTrue(str(caught.exception).startswith(message), str(caught.exception))
        for text, message in (("func @f()", "stablehlo: line 1: found 'func', expected 'module', as jax.export.export(f)(x).mlir_module() "
                               "begins"), (HEADER + "  foo", "stablehlo: line 2: found 'foo', expected 'func.func'"),
                              (HEADER, "stablehlo: line 2: found 'the end', expected 'func.func'"),
                              ("module @m attributes {a = 1", "stablehlo: line 1: the text ends within a statement, or before its last }"),
                              (HEADER + "  func.func @f() {", "stablehlo: line 2: found 'the end', expected an operation"),
                              (HEADER + "}", "stablehlo: there is no function main; there are none")):
            with self.assertRaises(vf.InvalidError) as caught:
                stablehlo.load(text)
            self.assertEqual(str(caught.exception), message)
        with self.assertRaisesRegex(TypeError, "load takes the text of a module of StableHLO, or what jax.export.export"):
            stablehlo.load(7)

    def test_calls(self):
        loaded = stablehlo.load(module("%arg0: tensor<3xf32>", "    return %arg0 : tensor<3xf32>", "tensor<3xf32>"))
        with self.assertRaisesRegex(vf.InvalidError, "stablehlo: input x0 is f32\\[4\\]; the program takes f32\\[3\\]"):
            loaded(np.zeros(4, "f"))
        with self.assertRaisesRegex(vf.InvalidError, "stablehlo: 2 arrays; the program takes 1: x0"):
            loaded(np.zeros(3, "f"), np.zeros(3, "f"))

    def test_page(self):
        """docs/jax.md lists all rows."""
        from viewfold.stablehlo.rows.table import CONTROL, ROWS

        with open(os.path.join(os.path.dirname(FOLDER), "..", "..", "docs", "jax.md"), encoding="utf-8") as file:
            listed = set(re.findall(r"`([a-z_0-9.]+)`", file.read().partition("<!-- rows -->")[2].partition("<!-- end -->")[0]))
        self.assertEqual(listed, set(ROWS) | {n.removeprefix("stablehlo.") for n in CONTROL if n != "stablehlo.custom_call"})


@unittest.skipUnless(jax, "JAX is not installed")
class OfJax(Case):
    def test_functions(self):
        """Each function gives what JAX gives."""
        from stablehlo_functions import FUNCTIONS

        self.assertGreaterEqual(len(FUNCTIONS), 60)
        for name, (function, arguments) in FUNCTIONS.items():
            with self.subTest(name):
                exported = jax.export.export(jax.jit(function))(*arguments)
                made, wanted = stablehlo.load(exported)(*arguments), exported.call(*arguments)
                self.assertEqual(jax.tree.structure(made), jax.tree.structure(wanted))
                for have, want in zip(jax.tree.leaves(made), jax.tree.leaves(wanted)):
                    compared(self, have, want, name)

    def test_arguments_that_nothing_uses(self):
        """jax.export leaves them out of the text; the function takes them as JAX's does."""
        x = np.arange(3, dtype="f")
        for function in (lambda a, b: b["y"] * 2, lambda a, b: {"z": a}, lambda a, b: 3):
            exported = jax.export.export(jax.jit(function))(x, {"y": x + 1, "n": x})
            loaded = stablehlo.load(exported)
            made, wanted = loaded(x, {"y": x + 1, "n": x}), exported.call(x, {"y": x + 1, "n": x})
            self.assertEqual(jax.tree.structure(made), jax.tree.structure(wanted))
            for have, want in zip(jax.tree.leaves(made), jax.tree.leaves(wanted)):
                compared(self, have, want, "")
            with self.assertRaisesRegex(vf.InvalidError, "arguments have the form"):
                loaded(x)

    def test_gradients(self):
        """Of what was loaded, where JAX has them."""
        from stablehlo_functions import FUNCTIONS

        for name in ("attention", "lstm", "scan", "convolutional net", "taken along", "gradient of taking", "dynamic slices", "unrolled loop", "softmax"):
            with self.subTest(name):
                function, arguments = FUNCTIONS[name]
                exported = jax.export.export(jax.jit(function))(*arguments)
                loaded = stablehlo.load(exported)
                which = tuple(n for n, a in enumerate(arguments) if a.dtype.kind == "f")

                def total(leaves):
                    return sum((x * x).sum() for x in leaves)

                made = vf.grad(lambda *a: total(jax.tree.leaves(loaded(*a))), which)(*arguments)
                wanted = jax.grad(lambda *a: total(jax.tree.leaves(function(*a))), which)(*arguments)
                for have, want in zip(made, wanted):
                    compared(self, have, want, name)


def write():
    from stablehlo_functions import FUNCTIONS

    os.makedirs(FOLDER, exist_ok=True)
    results = {}
    for name in KEPT:
        function, arguments = FUNCTIONS[name]
        exported = jax.export.export(jax.jit(function))(*arguments)
        text = "\n".join(line for line in exported.mlir_module().splitlines() if not line.startswith("#loc"))
        text = re.sub(r' loc\((?:#\w+|unknown|"[^"]*"(?:\(#\w+\))?)\)', "", text)
        with open(os.path.join(FOLDER, name.replace(" ", "_") + ".mlir"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        results[name] = {"arguments": [as_list(a) for a in jax.tree.leaves(arguments)],
                         "results": [as_list(a) for a in jax.tree.leaves(exported.call(*arguments))]}
    with open(os.path.join(FOLDER, "results.json"), "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results.items()) + "\n}\n")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        unittest.main()
