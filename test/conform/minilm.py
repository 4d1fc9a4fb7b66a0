#!/usr/bin/env python3
"""The sentence search of docs/examples/minilm/ against BERT's own definition of tokens, the formula of
sentence-transformers in NumPy, and, where Python has it, the package tokenizers.

Tokens of random texts, with a small vocabulary made here; answers of a small model with random weights made
here; what a terminal shows while somebody types; and, where `make demo-minilm` has put it into DIR/demo/,
answers of the model all-MiniLM-L6-v2.

  minilm.py --build DIR [--seed N] [--count N]

--count is the number of sentences that are searched; of tokens, ten times as many texts are tried. Exit
status: 0, 1 after a failure, 77 when it cannot run.
"""
import argparse
import json
import math
import os
import pty
import random
import select
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

try:
    import numpy as np
except ImportError as missing:
    print(f"skip: {missing} (package python3-numpy)")
    sys.exit(77)

CLOSE = 1e-5  # of scores: those of f32 are off by 1e-6 at most, GELU by tanh moves them by 5e-4
SAME = 1e-5  # scores that are closer may be in either order
LONGEST = 256  # tokens
HEAD = 32  # numbers of an attention head
PATIENCE = 600  # seconds until a terminal that shows nothing counts as broken
QUERIES = (
    "animals that live in water",
    "my pet is tired",
    "How do I stop a dripping faucet?",
    "loss of work due to a software error",
    "Müdigkeit nach dem Essen – was hilft?",
    "東京の天気 ☂",
    "",
    "money " * 400,
)


# ---------------------------------------------------------------------------------------------- tokens
# As google-research/bert defines them in tokenization.py, with the order of steps and the special tokens of
# Hugging Face's tokenizers.
CHINESE = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
           (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def is_punctuation(c):
    return 33 <= ord(c) <= 47 or 58 <= ord(c) <= 64 or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126 or (
        unicodedata.category(c)[0] == "P")


def words(text):
    clean = []
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c)[0] == "Z":
            clean.append(" ")
        elif unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs") and c != "\ufffd":
            clean.append(f" {c} " if any(lo <= ord(c) <= hi for lo, hi in CHINESE) else c)
    parts = unicodedata.normalize("NFD", "".join(clean))
    parts = "".join(c.lower() for c in parts if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if is_punctuation(c) else c for c in parts).split()


def pieces(vocabulary, word):
    if len(word) > 100:
        return [vocabulary["[UNK]"]]
    found, begin = [], 0
    while begin < len(word):
        for end in range(len(word), begin, -1):
            piece = ("##" if begin else "") + word[begin:end]
            if piece in vocabulary:
                break
        else:
            return [vocabulary["[UNK]"]]
        found.append(vocabulary[piece])
        begin = end
    return found


def tokens(vocabulary, text):
    found, begin = [], 0
    while begin < len(text):
        places = [(text.find(s, begin), s) for s in SPECIAL if s in vocabulary and text.find(s, begin) >= 0]
        end, special = min(places, default=(len(text), None))
        found += [t for word in words(text[begin:end]) for t in pieces(vocabulary, word)]
        if special:
            found.append(vocabulary[special])
        begin = end + len(special or "")
    return [vocabulary["[CLS]"], *found[:LONGEST - 2], vocabulary["[SEP]"]]


# Characters whose category has never changed since Unicode 3.2, so that the versions of Python, of libunistring
# and of tokenizers agree on them; and some emoji, which are younger.
def stable(first, last):
    old = unicodedata.ucd_3_2_0
    return [chr(c) for c in range(first, last)
            if old.category(chr(c)) == unicodedata.category(chr(c)) not in ("Cn", "Cs")]


ALPHABETS = [stable(*span) for span in (
    (0x20, 0x7F), (0x61, 0x7B), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80),
    (0x1E00, 0x2000), (0x2010, 0x2200), (0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFA00),
    (0xFF00, 0xFFF0), (0x20000, 0x20100), (0x1D100, 0x1D200))]
ALPHABETS.append([chr(c) for c in range(0x1F600, 0x1F640)] + ["\u200d", "\ufe0f"])
ALPHABETS.append([chr(c) for c in (*range(0, 10), *range(11, 33), *range(0x7F, 0xA0))] + list(
    "\xad\u200b\u200e\u2028\u3000\ufeff\ufffd\ue000"))


def small_vocabulary():
    """Special tokens, letters alone and continuing, some longer pieces, words of other scripts."""
    letters = [chr(c) for c in range(97, 123)]
    longer = ("the cat sat on mat un break able ing er s resume cafe uber strasse naive ##the ##ing ##er ##s ##able"
              " ##break ##fee ##sume ιδεα ##δεα привет ##вет 東 京 ##京 ᄀ ##ᅡ ##ᄀ 1 2 ##2 ! , . - [ ] # ’ – 。 😀").split()
    return list(dict.fromkeys([*SPECIAL, *letters, *("##" + c for c in letters), *longer]))


def draw_text(r, known):
    parts = []
    for _ in range(r.choice((0, 1, 3, 8, 20, 60, 300))):
        kind = r.random()
        if kind < 0.5:
            part = r.choice(known).replace("##", "") + r.choice(("", r.choice(known).replace("##", "")))
            part = r.choice((part, part.upper(), part.title()))
        elif kind < 0.53:
            part = "".join(r.choices(ALPHABETS[1], k=r.choice((99, 100, 101, 130))))
        else:
            part = "".join(r.choice(r.choice((ALPHABETS[1], *ALPHABETS))) for _ in range(r.randint(1, 8)))
        parts += [part, r.choice((" ", " ", "", "\t", "\u3000", "\xa0", ", "))]
    return "".join(parts)


def tokens_of_program(program, path, texts):
    done = subprocess.run([program, "--tokens", path], input="\n".join(texts).encode() + b"\n", check=True,
                          stdout=subprocess.PIPE)
    return [[int(t) for t in line.split()] for line in done.stdout.decode().splitlines()]


def package_tokens(known):
    """The function of tokenizers, or None without it."""
    try:
        import tokenizers as hf
    except ImportError:
        return None
    t = hf.Tokenizer(hf.models.WordPiece({k: i for i, k in enumerate(known)}, unk_token="[UNK]",
                                         max_input_chars_per_word=100))
    t.normalizer = hf.normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    t.post_processor = hf.processors.BertProcessing(("[SEP]", known.index("[SEP]")), ("[CLS]", known.index("[CLS]")))
    t.add_special_tokens([s for s in SPECIAL if s in known])
    t.enable_truncation(LONGEST)
    return lambda text: t.encode(text).ids


def check_tokens(report, program, path, known, texts, name):
    got = tokens_of_program(program, path, texts)
    vocabulary = {k: i for i, k in enumerate(known)}
    judges = {"BERT's definition": lambda text: tokens(vocabulary, text), "tokenizers": package_tokens(known)}
    for judge, function in judges.items():
        if function is None:
            print(f"Python has no {judge}: {name} not compared with it")
            continue
        wrong = [(t, g, function(t)) for t, g in zip(texts, got) if g != function(t)]
        report(f"{name} of {len(texts)} texts, {judge}", len(got) == len(texts) and not wrong,
               *(f"{ascii(t)[:300]}\n    {g[:40]}, expected {w[:40]}" for t, g, w in wrong[:3]))


# ---------------------------------------------------------------------------------------------- answers
def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: np.frombuffer(data, "<f4", math.prod(entry["shape"]), 8 + length + entry["data_offsets"][0]).reshape(
        entry["shape"]) for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def write_safetensors(path, arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": (at, at := at + array.nbytes)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(a.astype("<f4").tobytes() for a in arrays.values()))


erf = np.vectorize(math.erf, otypes=[np.float64])


def embedding(weights, ids):
    """transformers' BertModel, mean pooling under a mask that is all ones, and length 1; in f64."""
    def w(name):
        return weights[name].astype(np.float64)

    def linear(x, name):
        return x @ w(name + ".weight").T + w(name + ".bias")

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * w(name + ".weight") + w(name + ".bias")

    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + w("embeddings.position_embeddings.weight")[:len(ids)] + w("embeddings.token_type_embeddings.weight")[0]
    x = norm(x, "embeddings.LayerNorm")
    size = x.shape[1]
    layer = 0
    while (p := f"encoder.layer.{layer}.") + "output.dense.weight" in weights:
        q, k, v = (linear(x, f"{p}attention.self.{n}").reshape(len(ids), size // HEAD, HEAD).swapaxes(0, 1)
                   for n in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(HEAD)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        seen = shares / shares.sum(-1, keepdims=True) @ v
        seen = linear(seen.swapaxes(0, 1).reshape(len(ids), size), p + "attention.output.dense")
        x = norm(x + seen, p + "attention.output.LayerNorm")
        inner = linear(x, p + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + linear(inner, p + "output.dense"), p + "output.LayerNorm")
        layer += 1
    mean = x.mean(0)
    return mean / max(np.linalg.norm(mean), 1e-12)


def answers_of_program(program, model, sentences, queries):
    """For each query a list of (score, sentence)."""
    done = subprocess.run([program, "--best", "100000", model, sentences], input="\n".join(queries).encode() + b"\n",
                          check=True, stdout=subprocess.PIPE)
    blocks = done.stdout.decode().split("\n\n")[:-1]
    return [[(float(line[:9]), line[9:].strip()) for line in block.split("\n") if line] for block in blocks]


def check_answers(report, program, model, known, lines, folder, name):
    path = os.path.join(folder, name + ".txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n\n")  # the empty line is no sentence
    got = answers_of_program(program, model, path, QUERIES)
    weights = read_safetensors(os.path.join(model, "model.safetensors"))
    vocabulary = {k: i for i, k in enumerate(known)}
    of = {line: embedding(weights, tokens(vocabulary, line)) for line in lines}
    report(f"{name}: answers to each query", len(got) == len(QUERIES))
    worst = 0
    for query, answers in zip(QUERIES, got):
        q = embedding(weights, tokens(vocabulary, query))
        want = [float(q @ of[sentence]) for _, sentence in answers]
        errors = [abs(score - w) for (score, _), w in zip(answers, want)]
        worst = max(worst, *errors)
        fault = [f"{score} of {sentence!r}, expected {w:.6f}" for (score, sentence), w, e in zip(answers, want, errors)
                 if e > CLOSE]
        fault += [f"{b!r} after {a!r}" for (_, a), (_, b), x, y in zip(answers, answers[1:], want, want[1:])
                  if y > x + SAME]
        whole = sorted(sentence for _, sentence in answers) == sorted(lines)
        report(f"{name}: {query[:40]!r}", whole and not fault, *fault[:3])
    print(f"{name}: {len(lines)} sentences, {len(QUERIES)} queries, largest error of a score {worst:.1e}")


def small_model(r, folder, known, size=2 * HEAD, inner=96, layers=2, places=300):
    """Random weights, large enough that attention, norms and biases all matter."""
    def draw(*shape, scale=0.3, about=0.0):
        return (about + scale * r.standard_normal(shape)).astype(np.float32)

    arrays = {f"embeddings.{n}_embeddings.weight": draw(count, size, scale=1)
              for n, count in (("word", len(known)), ("position", places), ("token_type", 2))}

    def add(name, *shape):
        norm = "LayerNorm" in name
        arrays[name + ".weight"] = draw(*shape[:1 if norm else 2], scale=0.2, about=1.0 if norm else 0.0)
        arrays[name + ".bias"] = draw(shape[0])

    add("embeddings.LayerNorm", size)
    for layer in range(layers):
        for name, shape in (("attention.self.query", (size, size)), ("attention.self.key", (size, size)),
                            ("attention.self.value", (size, size)), ("attention.output.dense", (size, size)),
                            ("attention.output.LayerNorm", (size,)), ("intermediate.dense", (inner, size)),
                            ("output.dense", (size, inner)), ("output.LayerNorm", (size,))):
            add(f"encoder.layer.{layer}.{name}", *shape)
    write_safetensors(os.path.join(folder, "model.safetensors"), arrays)
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(known) + "\n")


# --------------------------------------------------------------------------------------------- terminal
def check_terminal(report, program, model, sentences):
    """Type, correct, leave: answers appear, and the terminal is as it was."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "vt100"
        os.execv(program, [program, "--best", "2", model, sentences])
    usual = termios.tcgetattr(terminal)
    shown = b""

    def until(text):
        nonlocal shown
        while text not in shown:
            if not select.select([terminal], [], [], PATIENCE)[0]:
                return False
            try:
                more = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                return False
            shown += more
        shown = b""
        return True

    good = until(b"search: ")
    os.write(terminal, "the cát".encode())
    good = good and until("search: the cát".encode())
    os.write(terminal, b"\x7f\x7f\x7fx\x1b[A")  # a whole character each; an arrow does nothing
    good = good and until(b"search: the x")
    os.write(terminal, b"\x15mat")
    good = good and until(b"search: mat")
    os.write(terminal, b"\x03")
    until(b"\0")  # its end
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    restored = termios.tcgetattr(terminal)[3] == usual[3]
    os.close(terminal)
    report("answers while typing", good and ended == 0 and restored, f"status {ended}, restored: {restored}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    a = parser.parse_args()
    program = os.path.join(a.build, "demo", "minilm")
    if not os.path.exists(program):
        print(f"skip: {program} is not built: libunistring is missing (.ci/deps install minilm)")
        return 77
    counts = {True: 0, False: 0}

    def report(name, good, *details):
        counts[bool(good)] += 1
        if not good:
            print(f"FAIL {name}", *details, sep="\n  ")

    r = random.Random(a.seed)
    known = small_vocabulary()
    with open("docs/examples/minilm/sentences.txt", encoding="utf-8") as file:
        sentences = file.read().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        small_model(np.random.default_rng(a.seed), folder, known)
        texts = [draw_text(r, known) for _ in range(10 * a.count)]
        check_tokens(report, program, os.path.join(folder, "vocab.txt"), known, texts, "tokens")
        some = r.sample(sentences, min(a.count, len(sentences)))
        check_answers(report, program, folder, known, some, folder, "a small model")
        check_terminal(report, program, folder, os.path.join(folder, "a small model.txt"))
        model = os.path.join(a.build, "demo", "all-MiniLM-L6-v2")
        if os.path.exists(model):
            with open(os.path.join(model, "vocab.txt"), encoding="utf-8") as file:
                known = file.read().split("\n")[:-1]
            texts = [draw_text(r, known) for _ in range(10 * a.count)]
            check_tokens(report, program, os.path.join(model, "vocab.txt"), known, texts, "tokens of MiniLM")
            check_answers(report, program, model, known, some, folder, "MiniLM")
        else:
            print("all-MiniLM-L6-v2 is not here: make demo-minilm fetches it")
    print(f"minilm: {counts[True]} passed, {counts[False]} failed (seed {a.seed})")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
