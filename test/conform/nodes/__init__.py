"""Every ONNX operator that is translated: its name, and the function that records it."""
from nodes import elementwise, network, reduce, shapes, window

TABLE = {}
for part in (elementwise, shapes, reduce, window, network):
    twice = TABLE.keys() & part.TABLE.keys()
    assert not twice, f"two translations of {sorted(twice)}"
    TABLE.update(part.TABLE)

# Why the other operators are not translated.
REASONS = {
    "random numbers of another generator":
        "RandomUniformLike RandomNormalLike RandomUniform RandomNormal Bernoulli Multinomial",
    "sizes that depend on data": "NonZero Unique NonMaxSuppression",
    "control flow over another model's graphs": "If Loop Scan SequenceMap",
    "sequences and optional values":
        "SequenceEmpty SequenceInsert SequenceLength SequenceAt SequenceConstruct SequenceErase "
        "SplitToSequence ConcatFromSequence OptionalGetElement OptionalHasElement Optional",
    "strings": "StringNormalizer TfIdfVectorizer StringConcat StringSplit RegexFullMatch",
    "no composition written": "GridSample RoiAlign MelWeightMatrix ImageDecoder AffineGrid DeformConv",
}
MISSING = {operator: why for why, operators in REASONS.items() for operator in operators.split()}
