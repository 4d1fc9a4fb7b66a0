"""Every ONNX operator that is translated: its name, and the function that records it."""
from nodes import elementwise, network, reduce, shapes, window

TABLE = {}
for part in (elementwise, shapes, reduce, window, network):
    twice = TABLE.keys() & part.TABLE.keys()
    assert not twice, f"two translations of {sorted(twice)}"
    TABLE.update(part.TABLE)

# Operations that translations ask for before viewfold has them: their tests are not covered until then.
AWAITED = {"scatter", "scatter_add", "scatter_along_axis", "scatter_add_along_axis", "topk"}

# Why the others are not.
MISSING = {
    **dict.fromkeys("RandomUniformLike RandomNormalLike RandomUniform RandomNormal Bernoulli Multinomial".split(),
                    "random numbers of another generator"),
    **dict.fromkeys("NonZero Unique NonMaxSuppression".split(), "sizes that depend on data, or sorting"),
    **dict.fromkeys("If Loop Scan SequenceMap".split(), "control flow over another model's graphs"),
    **dict.fromkeys("SequenceEmpty SequenceInsert SequenceLength SequenceAt SequenceConstruct SplitToSequence "
                    "ConcatFromSequence SequenceErase OptionalGetElement OptionalHasElement Optional".split(),
                    "sequences and optional values"),
    **dict.fromkeys("StringNormalizer TfIdfVectorizer StringConcat StringSplit RegexFullMatch".split(), "strings"),
    **dict.fromkeys("Acos Asin Atan".split(), "inverse trigonometric functions"),
    **dict.fromkeys("GridSample RoiAlign MelWeightMatrix ImageDecoder AffineGrid DeformConv".split(),
                    "no composition written"),
}
