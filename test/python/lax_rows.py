"""What of jax.lax has a counterpart: rows of name, kind of elements, shapes, attributes, and the functions of both."""

from common import np, vf

try:
    import jax
    from jax import lax
except ImportError:  # the rows are not used then
    jax = lax = None

F, I, U, B = ("float32", "float64"), ("int8", "int32", "int64"), ("uint8", "uint32"), ("bool",)
ANY = F + I + U
SHAPES = ((), (7,), (3, 4), (2, 1, 5), (0, 3))

# name in jax.lax: counterpart, dtypes, range of elements
UNARY = {
    "abs": (vf.abs, F + I, (-9, 9)), "neg": (vf.negative, ANY, (-9, 9)), "sign": (vf.sign, F + I, (-3, 3)),
    "sqrt": (vf.sqrt, F, (0, 9)), "rsqrt": (vf.rsqrt, F, (0.1, 9)), "exp": (vf.exp, F, (-5, 5)), "exp2": (vf.exp2, F, (-5, 5)),
    "log": (vf.log, F, (0.1, 9)), "log1p": (vf.log1p, F, (-0.9, 9)), "expm1": (vf.expm1, F, (-3, 3)),
    "sin": (vf.sin, F, (-9, 9)), "cos": (vf.cos, F, (-9, 9)), "tan": (vf.tan, F, (-1, 1)),
    "asin": (vf.asin, F, (-1, 1)), "acos": (vf.acos, F, (-1, 1)), "atan": (vf.atan, F, (-9, 9)),
    "sinh": (vf.sinh, F, (-3, 3)), "cosh": (vf.cosh, F, (-3, 3)), "tanh": (vf.tanh, F, (-3, 3)),
    "asinh": (vf.asinh, F, (-9, 9)), "acosh": (vf.acosh, F, (1.1, 9)), "atanh": (vf.atanh, F, (-0.9, 0.9)),
    "erf": (vf.erf, F, (-3, 3)), "erf_inv": (vf.erfinv, F, (-0.9, 0.9)), "erfc": (lambda x: 1 - vf.erf(x), F, (-2, 2)),
    "logistic": (vf.nn.sigmoid, F, (-9, 9)), "floor": (vf.floor, F, (-9, 9)), "ceil": (vf.ceil, F, (-9, 9)),
    "is_finite": (vf.isfinite, F, (-9, 9)), "reciprocal": (vf.reciprocal, F, (0.5, 9)), "square": (vf.square, ANY, (-9, 9)),
    "bitwise_not": (vf.bitwise_invert, I + U + B, (-9, 9)), "cbrt": (lambda x: vf.sign(x) * vf.abs(x) ** (1 / 3), F, (0.5, 9)),
    "stop_gradient": (vf.stop_gradient, ANY, (-9, 9)),
}
BINARY = {
    "add": (vf.add, ANY), "sub": (vf.subtract, ANY), "mul": (vf.multiply, ANY), "div": (vf.divide, F), "max": (vf.maximum, ANY),
    "min": (vf.minimum, ANY), "eq": (vf.equal, ANY), "ne": (vf.not_equal, ANY), "lt": (vf.less, ANY), "le": (vf.less_equal, ANY),
    "gt": (vf.greater, ANY), "ge": (vf.greater_equal, ANY), "bitwise_and": (vf.bitwise_and, I + U + B),
    "bitwise_or": (vf.bitwise_or, I + U + B), "bitwise_xor": (vf.bitwise_xor, I + U + B), "atan2": (vf.atan2, F),
    "nextafter": (vf.nextafter, F),
    "rem": (lambda x, y: x - vf.trunc(x / y) * y, ("float64",)),  # the sign of x; vf.remainder has that of y
}
SHIFTS = {"shift_left": vf.bitwise_left_shift, "shift_right_arithmetic": vf.bitwise_right_shift}
CUMULATIVE = {"cumsum": "cumsum", "cumprod": "cumprod", "cummax": "cummax", "cummin": "cummin"}
REDUCTIONS = {"reduce_sum": vf.sum, "reduce_prod": vf.prod, "reduce_max": vf.max, "reduce_min": vf.min}


def _pair(*arrays):
    """The arrays of both."""
    return [vf.array(a) for a in arrays], [jax.numpy.asarray(a) for a in arrays]


def _others():
    """name, function of viewfold, of jax.lax, arrays."""
    a, m, i = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(3, 4), np.arange(12).reshape(3, 4) % 5
    b = i > 2
    image, kernel = np.arange(2 * 3 * 6 * 5.0).reshape(2, 3, 6, 5) % 7, np.arange(4 * 3 * 3 * 2.0).reshape(4, 3, 3, 2) % 3
    add_one = lambda n: n + 1  # noqa: E731
    return (
        ("reshape", lambda x: vf.reshape(x, (4, 6)), lambda x: lax.reshape(x, (4, 6)), (a,)),
        ("transpose", lambda x: vf.permute_dims(x, (2, 0, 1)), lambda x: lax.transpose(x, (2, 0, 1)), (a,)),
        ("rev", lambda x: vf.flip(x, axis=(0, 2)), lambda x: lax.rev(x, (0, 2)), (a,)),
        ("squeeze", lambda x: vf.squeeze(x, axis=1), lambda x: lax.squeeze(x, (1,)), (a[:, :1],)),
        ("expand_dims", lambda x: vf.expand_dims(x, axis=(0, 2)), lambda x: lax.expand_dims(x, (0, 2)), (m,)),
        ("broadcast", lambda x: vf.broadcast_to(x, (2, 3, 4)), lambda x: lax.broadcast(x, (2,)), (m,)),
        ("broadcast_in_dim", lambda x: vf.broadcast_to(x[:, None], (3, 5, 4)),
         lambda x: lax.broadcast_in_dim(x, (3, 5, 4), (0, 2)), (m,)),
        ("collapse", lambda x: vf.reshape(x, (6, 4)), lambda x: lax.collapse(x, 0, 2), (a,)),
        ("slice", lambda x: x[1:3, ::2], lambda x: lax.slice(x, (1, 0), (3, 4), (1, 2)), (m,)),
        ("slice_in_dim", lambda x: x[:, 1:4:2], lambda x: lax.slice_in_dim(x, 1, 4, 2, 1), (m,)),
        ("index_in_dim", lambda x: x[:, 2:3], lambda x: lax.index_in_dim(x, 2, 1), (m,)),
        ("dynamic_index_in_dim", lambda x, k: x[k], lambda x, k: lax.dynamic_index_in_dim(x, k, 0, False), (m, np.int32(2))),
        ("dynamic_slice_in_dim", lambda x, k: x[k + vf.arange(2)], lambda x, k: lax.dynamic_slice_in_dim(x, k, 2, 0),
         (m, np.int32(1))),
        ("dynamic_slice", lambda x, k: vf.take(x, k + vf.arange(2), axis=1),
         lambda x, k: lax.dynamic_slice(x, (k * 0, k), (3, 2)), (m, np.int32(1))),
        ("dynamic_update_slice", lambda x, y, k: x.at[k + vf.arange(2)].set(y),
         lambda x, y, k: lax.dynamic_update_slice(x, y, (k, k * 0)), (m, m[:2] + 50, np.int32(1))),
        ("dynamic_update_slice_in_dim", lambda x, y, k: x.at[k + vf.arange(2)].set(y),
         lambda x, y, k: lax.dynamic_update_slice_in_dim(x, y, k, 0), (m, m[:2] + 50, np.int32(1))),
        ("dynamic_update_index_in_dim", lambda x, y, k: x.at[k].set(y),
         lambda x, y, k: lax.dynamic_update_index_in_dim(x, y, k, 0), (m, m[0] + 50, np.int32(1))),
        ("pad", lambda x: vf.pad(x, ((1, 2), (0, 1)), value=7.0), lambda x: lax.pad(x, 7.0, ((1, 2, 0), (0, 1, 0))), (m,)),
        ("concatenate", lambda x, y: vf.concat([x, y], axis=1), lambda x, y: lax.concatenate([x, y], 1), (m, m[:, :2])),
        ("stack", lambda x, y: vf.stack([x, y], axis=1), lambda x, y: lax.stack([x, y], 1), (m, m)),
        ("unstack", lambda x: vf.unstack(x, axis=1)[2], lambda x: lax.unstack(x, 1)[2], (m,)),
        ("split", lambda x: vf.split(x, 2, axis=1)[1], lambda x: lax.split(x, (2, 2), 1)[1], (m,)),
        ("tile", lambda x: vf.tile(x, (2, 3)), lambda x: lax.tile(x, (2, 3)), (m,)),
        ("iota", lambda: vf.arange(9), lambda: lax.iota("int32", 9), ()),
        ("broadcasted_iota", lambda: vf.broadcast_to(vf.arange(3)[:, None], (3, 4)),
         lambda: lax.broadcasted_iota("int32", (3, 4), 0), ()),
        ("full", lambda: vf.full((2, 3), 4.5), lambda: lax.full((2, 3), 4.5, "float32"), ()),
        ("full_like", lambda x: vf.full_like(x, 2), lambda x: lax.full_like(x, 2), (m,)),
        ("select", vf.where, lax.select, (b, m, -m)),
        ("select_n", lambda c, x, y: vf.where(c, y, x), lax.select_n, (b, m, -m)),
        ("clamp", lambda x: vf.clip(x, 2.0, 7.0), lambda x: lax.clamp(2.0, x, 7.0), (m,)),
        ("convert_element_type", lambda x: x.astype("int32"), lambda x: lax.convert_element_type(x, "int32"), (m - 5.5,)),
        ("bitcast_convert_type", lambda x: vf.bitcast(x, "int32"), lambda x: lax.bitcast_convert_type(x, "int32"),
         (m.astype("float32"),)),
        ("pow", vf.pow, lax.pow, (m + 1, m / 4)),
        ("integer_pow", lambda x: x**3, lambda x: lax.integer_pow(x, 3), (m,)),
        ("round", vf.round, lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (m / 2 - 3,)),
        ("shift_right_logical", vf.bitwise_right_shift,
         lax.shift_right_logical, (i.astype("uint32") * 1000, (i % 3).astype("uint32"))),
        ("reduce_and", vf.all, lambda x: lax.reduce_and(x, (0, 1)), (b,)), ("reduce_or", vf.any,
         lambda x: lax.reduce_or(x, (0, 1)), (b,)),
        ("argmax", lambda x: vf.argmax(x, axis=1).astype("int32"), lambda x: lax.argmax(x, 1, "int32"), (m % 5,)),
        ("argmin", lambda x: vf.argmin(x, axis=0).astype("int32"), lambda x: lax.argmin(x, 0, "int32"), (m % 5,)),
        ("sort", lambda x: vf.sort(x, axis=0), lambda x: lax.sort(x, dimension=0), (m % 5,)),
        ("sort_key_val", lambda k, v: vf.take_along_axis(v, vf.argsort(k), axis=-1),
         lambda k, v: lax.sort_key_val(k, v)[1], (m % 5, m)),
        ("top_k", lambda x: vf.topk(x, 2)[0], lambda x: lax.top_k(x, 2)[0], (m % 5,)),
        ("dot", lambda x, y: x @ y, lax.dot, (m, m.T)), ("batch_matmul", lambda x, y: x @ y, lax.batch_matmul,
         (a, a.transpose(0, 2, 1))),
        ("dot_general", lambda x, y: vf.einsum("bij,bkj->bik", x, y),
         lambda x, y: lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,)))), (a, a + 1)),
        ("conv", lambda x, k: vf.nn.conv(x, k), lambda x, k: lax.conv(x, k, (1, 1), "VALID"), (image, kernel)),
        ("conv_general_dilated", lambda x, k: vf.nn.conv(x, k, stride=(2, 1), padding=((1, 1), (0, 1))),
         lambda x, k: lax.conv_general_dilated(x, k, (2, 1), ((1, 1), (0, 1))), (image, kernel)),
        ("conv_with_general_padding", lambda x, k: vf.nn.conv(x, k, padding=((2, 0), (1, 1))),
         lambda x, k: lax.conv_with_general_padding(x, k, (1, 1), ((2, 0), (1, 1)), None, None), (image, kernel)),
        ("reduce_window", lambda x: vf.nn.max_pool(x, (2, 2), stride=(1, 1)), lambda x: lax.reduce_window(x, -np.inf,
         lax.max, (1, 1, 2, 2), (1, 1, 1, 1), "VALID"), (image,)),
        ("index_take", lambda x: vf.take(x, vf.array([2, 0]), axis=0),
         lambda x: lax.index_take(x, (jax.numpy.array([2, 0]),), (0,)), (m,)),
        ("gather", lambda x, k: vf.take(x, k, axis=1), lambda x, k: jax.numpy.take(x, k, axis=1), (m, np.array([3, 0, 3]))),
        ("scatter", lambda x: x.at[vf.array([2, 0])].set(9.0), lambda x: x.at[np.array([2, 0])].set(9.0), (m,)),
        ("scatter_add", lambda x: x.at[vf.array([2, 2])].add(9.0), lambda x: x.at[np.array([2, 2])].add(9.0), (m,)),
        ("scatter_sub", lambda x: x.at[vf.array([2, 2])].subtract(9.0),
         lambda x: lax.scatter_sub(x, np.array([[2], [2]]), jax.numpy.full((2, 4), 9.0), lax.ScatterDimensionNumbers((1,), (0,), (0,))), (m,)),
        ("cond", lambda x: vf.cond(x.sum() > 0, vf.sin, vf.cos, x), lambda x: lax.cond(x.sum() > 0, lax.sin, lax.cos, x), (m,)),
        ("while_loop", lambda x: vf.while_loop(lambda s: s < 90, add_one, x),
         lambda x: lax.while_loop(lambda s: s < 90, add_one, x), (np.int32(3),)),
        ("fori_loop", lambda x: vf.fori_loop(0, 5, lambda n, s: s * 2, x), lambda x: lax.fori_loop(0, 5,
         lambda n, s: s * 2, x), (m,)),
        ("scan", lambda x: vf.scan(lambda c, r: (c + r, c * r), x[0], x)[1],
         lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1], (m,)),
        ("map", lambda x: vf.vmap(lambda r: r.sum())(x), lambda x: lax.map(lambda r: r.sum(), x), (m,)),
    )


# what has none, and why
WITHOUT = {
    "complex numbers": "complex imag real conj fft",
    "special functions": "bessel_i0e bessel_i1e betainc digamma igamma igamma_grad_a igammac lgamma polygamma zeta random_gamma_grad",
    "counts and products of bits": "clz population_count mulhi reduce_xor",
    "functions of the user as reductions": "reduce associative_scan cumlogsumexp scatter_apply custom_root custom_linear_solve",
    "`scatter` by product and extrema, by indices that may be equal": "scatter_mul scatter_max scatter_min",
    "another form of what is here": "switch conv_general_dilated_local conv_general_dilated_patches conv_transpose approx_max_k "
                                    "approx_min_k ragged_dot ragged_dot_general scaled_dot reduce_precision rng_bit_generator rng_uniform",
    "mesh axes by name inside of a map (`vf.collectives` are of whole arrays)": "all_gather all_to_all axis_index axis_size pbroadcast "
        "pcast pmax pmean pmin ppermute precv psend pshuffle psum psum_scatter pswapaxes ragged_all_to_all with_sharding_constraint",
    "of JAX's own machinery": "ConvGeneralDilatedDimensionNumbers DotDimensionNumbers PrecisionLike after_all broadcast_like "
        "broadcast_shapes broadcast_to_rank composite conv_dimension_numbers conv_general_permutations conv_general_shape_tuple "
        "conv_shape_tuple conv_transpose_shape_tuple create_token dce_sink dtype empty optimization_barrier padtype_to_pads "
        "platform_dependent reduce_window_shape_tuple shape_as_value stage",
}
