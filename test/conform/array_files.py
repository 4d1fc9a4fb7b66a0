#!/usr/bin/env python3
"""Files of arrays against the packages that define their formats: NumPy, safetensors and gguf.

A case writes random arrays by the package and reads them as constants of a graph (`data file=`), which are
compiled or evaluated: the same bits, and of GGUF's blocks those of the package's own dequantisation. Or it
writes by vf_arrays_write, and the package reads the same arrays. Or it damages a safetensors file: what
viewfold accepts, the package accepts, with the same arrays in the same places.

  array_files.py --build DIR [--seed N] [--count N] [--only KIND]

Exit status: 0, 1 after a failure, 77 when it cannot run.
"""
import argparse
import ctypes
import os
import sys
import tempfile

try:
    import gguf
    import numpy as np
    import safetensors
    import safetensors.numpy
except ImportError as missing:
    print(f"skip: {missing} (pip install numpy safetensors gguf)")
    sys.exit(77)

import binding

MOST_SHOWN = 10  # failures
NAMED = "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64".split()
GGUF_TYPES = {"F32": "f32", "F16": "f16", "F64": "f64", "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64"}
BLOCKS = ("Q8_0", "Q4_0")


def draw_array(random, dtype, least_rank=0, most_rank=3, last=None):
    """Random bits, so that infinities and subnormals occur; no NaNs, whose bits casts do not keep."""
    shape = [int(random.integers(0 if dtype == "u8" else 1, 7)) for _ in range(random.integers(least_rank, most_rank + 1))]
    if last:
        shape[-1] = last
    numpy = np.dtype(binding.NUMPY[dtype])
    count = int(np.prod(shape, dtype=np.int64))
    bits = np.frombuffer(random.bytes(count * numpy.itemsize), numpy).copy()
    if dtype == "bool":
        bits = random.integers(0, 2, count).astype(bool)
    elif numpy.kind == "f":
        bits[np.isnan(bits)] = 1
    return bits.reshape(shape)


def draw_name(random):
    parts = ("weight", "bias", "layers.0", "caf\u00e9", "a b", 'say "x"', "\\", "\u4e16\u754c", "encoder/0", "\U0001f600")
    return ".".join(random.choice(parts, int(random.integers(1, 4)))) + f".{int(random.integers(1 << 30))}"


def draw_arrays(random, count, **how):
    return {draw_name(random): draw_array(random, str(random.choice(NAMED)), **how) for _ in range(count)}


def quoted(text):
    return '"' + "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\x{c:02x}" for c in text.encode()) + '"'


def graph_of(path, names):
    lines = [f"  %v{i} = data file={quoted(path)} name={quoted(name)}" for i, name in enumerate(names)]
    return "graph @f() {\n" + "\n".join(lines) + "\n  return " + ", ".join(f"%v{i}" for i in range(len(names))) + "\n}\n"


def compare(context, random, path, arrays):
    """The arrays, by name, are what the file has; None, or what is wrong."""
    got = context.run_text(graph_of(path, arrays), [], [f"v{i}" for i in range(len(arrays))],
                           bool(random.integers(2)))
    for (name, want), have in zip(arrays.items(), got):
        want = binding.typed(np.ascontiguousarray(want).reshape(np.shape(want)))
        if have.dtype != want.dtype or have.shape != want.shape:
            return f"{name!r}: {have.dtype}{have.shape}, not {want.dtype}{want.shape}"
        if have.array.tobytes() != want.array.tobytes():
            return f"{name!r}, {want.dtype}{want.shape}: other elements"
    return None


def case_safetensors(context, random, folder):
    arrays = draw_arrays(random, random.integers(1, 6))
    path = os.path.join(folder, "a.safetensors")
    metadata = {"format": "np", "x": 'a "b" \u00e9'} if random.integers(2) else None
    safetensors.numpy.save_file(arrays, path, metadata=metadata)
    return compare(context, random, path, arrays)


def case_npz(context, random, folder):
    arrays = {name.replace("/", "_"): a for name, a in draw_arrays(random, random.integers(1, 6)).items()}
    for name, a in arrays.items():
        if random.integers(3) == 0:
            arrays[name] = np.asfortranarray(a)
        if random.integers(3) == 0 and a.dtype.itemsize > 1:
            arrays[name] = a.astype(a.dtype.newbyteorder(">"))
    path = os.path.join(folder, "a.npz")
    (np.savez if random.integers(2) else np.savez_compressed)(path, **arrays)
    return compare(context, random, path, {name: a.astype(a.dtype.newbyteorder("=")) for name, a in arrays.items()})


def case_gguf(context, random, folder):
    path = os.path.join(folder, "a.gguf")
    writer = gguf.GGUFWriter(path, "test")
    writer.add_string("general.name", draw_name(random))
    writer.add_array("tokens", [draw_name(random) for _ in range(random.integers(1, 5))])
    writer.add_array("scores", [float(x) for x in random.standard_normal(3)])
    if random.integers(2):
        writer.add_custom_alignment(int(random.choice((8, 64, 256))))
    arrays = {}
    for _ in range(random.integers(1, 5)):
        name = draw_name(random)[:60]
        if random.integers(2):
            kind = str(random.choice(list(GGUF_TYPES)))
            arrays[name] = draw_array(random, GGUF_TYPES[kind], least_rank=1)
            writer.add_tensor(name, arrays[name])
            continue
        kind = gguf.GGMLQuantizationType[str(random.choice(BLOCKS))]
        values = draw_array(random, "f32", least_rank=1, last=32 * int(random.integers(1, 5)))
        with np.errstate(all="ignore"):
            if random.integers(2):
                values = random.standard_normal(values.shape).astype(np.float32) * 10.0 ** random.integers(-6, 6)
            values = np.clip(values, -1e6, 1e6).astype(np.float32)
            blocks = gguf.quants.quantize(values, kind)
            arrays[name] = gguf.quants.dequantize(blocks, kind).reshape(values.shape)
        writer.add_tensor(name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return compare(context, random, path, arrays)


class NamedArray(ctypes.Structure):
    """A vf_named_array."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("elements", ctypes.c_void_p)]


def case_written(context, random, folder):
    arrays = {name.replace("/", "_"): a for name, a in draw_arrays(random, random.integers(1, 6)).items()}
    end = str(random.choice(("safetensors", "npz")))
    path = os.path.join(folder, f"b.{end}")
    items = (NamedArray * len(arrays))()
    for item, (name, a) in zip(items, arrays.items()):
        item.name, item.dtype, item.rank = name.encode(), binding.DTYPES.index(binding.NAMES[a.dtype]), a.ndim
        item.shape, item.elements = binding.sizes(a.shape), a.ctypes.data
    write = context.c.vf_arrays_write
    write.restype = ctypes.c_int
    write.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    context.must(write, context.raw, path.encode(), len(arrays), items)
    read = safetensors.numpy.load_file(path) if end == "safetensors" else dict(np.load(path))
    if set(read) != set(arrays):
        return f"{end}: other names: {sorted(read)}, not {sorted(arrays)}"
    for name, want in arrays.items():
        if read[name].dtype != want.dtype or read[name].shape != want.shape or read[name].tobytes() != want.tobytes():
            return f"{end}: {name!r} is another array"
    return compare(context, random, path, arrays)


def damage(random, data):
    """A few changes, most of them of the header."""
    length = int.from_bytes(data[:8], "little")
    data = bytearray(data)
    for _ in range(random.integers(1, 3)):
        at = int(random.integers(8, 8 + length)) if random.integers(8) else int(random.integers(len(data)))
        what = random.integers(4)
        if what == 0:
            data[at] = int(random.choice(list(b'0123456789[]{},:" ')))
        elif what == 1:
            data[at] ^= 1 << int(random.integers(8))
        elif what == 2:
            del data[at]
        else:
            data.insert(at, int(random.choice(list(b'0123456789[]{},:" \\'))))
    if random.integers(2):  # the length of the header, as its text says
        end = data.rfind(b"}", 0, 8 + length + 4) + 1
        data[:8] = (max(end, 8) - 8).to_bytes(8, "little")
    return bytes(data)


def case_damaged(context, random, folder):
    arrays = {f"t{i}": draw_array(random, str(random.choice(NAMED))) for i in range(random.integers(1, 4))}
    path = os.path.join(folder, "d.safetensors")
    data = damage(random, safetensors.numpy.save(arrays))
    with open(path, "wb") as file:
        file.write(data)
    open_file, close_file = context.c.vf_arrays_open, context.c.vf_arrays_close
    open_file.restype, open_file.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    close_file.restype, close_file.argtypes = None, [ctypes.c_void_p]
    try:
        handle = context.must(open_file, context.raw, path.encode())
    except binding.Refused:
        return None
    close_file(handle)
    try:
        read = safetensors.deserialize(data)
    except safetensors.SafetensorError as why:
        return f"viewfold accepts what safetensors refuses ({why}): {data[:400]!r}"
    known = {name: item for name, item in read if item["dtype"] in ("F32", "I64", "U8", "I32", "F64")}
    types = {"F32": np.float32, "I64": np.int64, "U8": np.uint8, "I32": np.int32, "F64": np.float64}
    wanted = {name: np.frombuffer(bytes(item["data"]), types[item["dtype"]]).reshape(item["shape"])
              for name, item in known.items()}
    return compare(context, random, path, wanted) if wanted else None


CASES = {"safetensors": case_safetensors, "npz": case_npz, "gguf": case_gguf, "written": case_written,
         "damaged": case_damaged}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--only", default="")
    options = options.parse_args()
    context = binding.Context(options.build)
    kinds = [kind for kind in CASES if options.only in ("", kind)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in range(options.count):
            kind = kinds[case % len(kinds)]
            try:
                reason = CASES[kind](context, np.random.default_rng([options.seed, case]), folder)
            except binding.Refused as why:
                reason = f"refused: {why}"
            failed += reason is not None
            if reason and failed <= MOST_SHOWN:
                print(f"{kind} (--seed {options.seed}, case {case}): {reason}", flush=True)
    print(f"seed {options.seed}, {options.count} cases of {len(kinds)} kinds")
    print(f"array_files: {options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
