"""NumPy's functions of arrays of viewfold, of known arrays and inside of compiled functions, against NumPy's own."""

import unittest

from common import Case, np, vf

_rng = np.random.default_rng(0)
A, B = _rng.normal(size=(4, 6)).astype("f4"), _rng.normal(size=(6, 3)).astype("f4")
I, V = _rng.integers(0, 6, size=(4, 2)), _rng.normal(size=7).astype("f4")
E = np.float32([np.inf, -np.inf, np.nan, 0, -2, 2, 1])
trapezoid = getattr(np, "trapezoid", None) or np.trapz

ROWS = {
    "indices of two axes": lambda a, b, i, v: a[:, np.array([[0, 1], [2, 0]])],
    "a constant mask": lambda a, b, i, v: a[:, np.array([True, False, True, True, False, False])],
    "a mask of both axes": lambda a, b, i, v: a[np.arange(24).reshape(4, 6) % 3 == 0],
    "rows and an argument": lambda a, b, i, v: a[np.arange(4)[:, None], i],
    "a list of lists": lambda a, b, i, v: a[[[0, 1], [2, 3]]],
    "nonzero of a constant": lambda a, b, i, v: v[np.nonzero(np.arange(7) % 2)],
    "var ddof": lambda a, b, i, v: a.var(0, ddof=1),
    "std ddof": lambda a, b, i, v: np.std(a, ddof=1),
    "median": lambda a, b, i, v: np.median(a, axis=1),
    "median of all": lambda a, b, i, v: np.median(v),
    "percentile": lambda a, b, i, v: np.percentile(v, 30),
    "percentiles": lambda a, b, i, v: np.percentile(a, [5, 50.5, 100], axis=0),
    "quantile keepdims": lambda a, b, i, v: np.quantile(a, 0.4, axis=1, keepdims=True),
    "kron": lambda a, b, i, v: np.kron(a, b),
    "kron of a vector": lambda a, b, i, v: np.kron(v, b),
    "convolve": lambda a, b, i, v: np.convolve(v, v[:3]),
    "convolve same": lambda a, b, i, v: np.convolve(v[:4], v, "same"),
    "convolve valid": lambda a, b, i, v: np.convolve(v, v[:4], "valid"),
    "correlate": lambda a, b, i, v: np.correlate(v, v[:3]),
    "correlate full": lambda a, b, i, v: np.correlate(v[:3], v, "full"),
    "interp": lambda a, b, i, v: np.interp(a, np.sort(v), v),
    "interp left right": lambda a, b, i, v: np.interp(a, np.sort(v), v, left=-9, right=9),
    "bincount": lambda a, b, i, v: np.bincount(i.reshape(-1), minlength=6),
    "bincount weights": lambda a, b, i, v: np.bincount(i.reshape(-1), weights=a.reshape(-1)[:8], minlength=7),
    "nanmean": lambda a, b, i, v: np.nanmean(np.where(a < a.max(1, keepdims=True), a, np.nan), axis=1),
    "nansum": lambda a, b, i, v: np.nansum(np.where(a < a.max(1, keepdims=True), a, np.nan)),
    "nanstd": lambda a, b, i, v: np.nanstd(np.where(a < a.max(1, keepdims=True), a, np.nan), axis=0, ddof=0),
    "nanmax": lambda a, b, i, v: np.nanmax(np.where(a < a.max(1, keepdims=True), a, np.nan), axis=1) + np.nanmin(np.where(a < a.max(1, keepdims=True), a, np.nan)),
    "nanargmax": lambda a, b, i, v: np.nanargmax(np.where(a < a.max(1, keepdims=True), a, np.nan), axis=1),
    "average": lambda a, b, i, v: np.average(a, axis=1, weights=v[:6]),
    "average of all": lambda a, b, i, v: np.average(a),
    "flipud": lambda a, b, i, v: np.flipud(a) + np.fliplr(a),
    "rot90": lambda a, b, i, v: np.rot90(a),
    "rot90 back": lambda a, b, i, v: np.rot90(a, -1),
    "unravel_index": lambda a, b, i, v: np.stack(np.unravel_index(i, (2, 3))),
    "ravel_multi_index": lambda a, b, i, v: np.ravel_multi_index((i[:, 0], i[:, 1]), (6, 6)),
    "isclose": lambda a, b, i, v: np.isclose(a, a + np.float32([0, 1e-9, 1e-6, 1e-4, 1, -1])),
    "allclose": lambda a, b, i, v: np.allclose(v, v),
    "array_equal": lambda a, b, i, v: np.array_equal(v, v * 2),
    "ptp": lambda a, b, i, v: np.ptp(a, axis=1),
    "select": lambda a, b, i, v: np.select([a < 0, a < 1], [a * 0, a], 9),
    "digitize": lambda a, b, i, v: np.digitize(a, [-1.0, 0, 1]),
    "digitize down": lambda a, b, i, v: np.digitize(a, [1.0, 0, -1]),
    "digitize right": lambda a, b, i, v: np.digitize(i, [1, 3, 5], right=True),
    "apply_along_axis": lambda a, b, i, v: np.apply_along_axis(np.sum, 1, a),
    "apply_along_axis 0": lambda a, b, i, v: np.apply_along_axis(lambda x: x[::-1] * 2, 0, a),
    "array_split": lambda a, b, i, v: np.concatenate([s * 2 for s in np.array_split(v, 3)]),
    "split at": lambda a, b, i, v: np.split(v, [2, 5])[1],
    "hsplit": lambda a, b, i, v: np.hsplit(a, 2)[1] - np.vsplit(a, 1)[0][:, :3],
    "stacks": lambda a, b, i, v: np.vstack([np.hstack([v, v[:2]]), np.hstack([v[:2], v])]),
    "column_stack": lambda a, b, i, v: np.column_stack([v, v * 2]),
    "dstack": lambda a, b, i, v: np.dstack([a, a * 2]),
    "append": lambda a, b, i, v: np.append(a, v),
    "vander": lambda a, b, i, v: np.vander(v, 3),
    "gradient": lambda a, b, i, v: np.gradient(v),
    "gradient of both": lambda a, b, i, v: np.gradient(a, 0.5)[1],
    "trapezoid": lambda a, b, i, v: trapezoid(v, dx=0.5),
    "trapezoid x": lambda a, b, i, v: trapezoid(a, v[:6], axis=1),
    "corrcoef": lambda a, b, i, v: np.corrcoef(a),
    "cov": lambda a, b, i, v: np.cov(a),
    "cov of a vector": lambda a, b, i, v: np.cov(v, ddof=0),
    "heaviside": lambda a, b, i, v: np.heaviside(a, 0.5),
    "sinc": lambda a, b, i, v: np.sinc(a),
    "partition": lambda a, b, i, v: np.sort(np.partition(v, 3)[:3]),
    "fmod": lambda a, b, i, v: np.fmod(a, 0.3),
    "fmax": lambda a, b, i, v: np.fmax(np.where(a < a.max(1, keepdims=True), a, np.nan), -a) + np.fmin(np.where(a > 0, np.nan, a), 1),
    "cbrt": lambda a, b, i, v: np.cbrt(a),
    "degrees": lambda a, b, i, v: np.degrees(np.radians(v)) + np.deg2rad(v) + np.rad2deg(v),
    "logaddexp2": lambda a, b, i, v: np.logaddexp2(a, 2 * a),
    "inner": lambda a, b, i, v: np.inner(a, a) + np.vdot(v, v),
    "diag": lambda a, b, i, v: np.diag(v, 1),
    "diag of a matrix": lambda a, b, i, v: np.diag(a, -1),
    "polyval": lambda a, b, i, v: np.polyval(v, a),
    "ediff1d": lambda a, b, i, v: np.ediff1d(a),
    "atleast_2d": lambda a, b, i, v: np.atleast_2d(v),
    "ravel": lambda a, b, i, v: np.ravel(a),
    "nancumsum": lambda a, b, i, v: np.nancumsum(np.where(a < a.max(1, keepdims=True), a, np.nan), axis=1),
    "nanprod": lambda a, b, i, v: np.nanprod(np.where(a < a.max(1, keepdims=True), a, np.nan)),
    "apply_over_axes": lambda a, b, i, v: np.apply_over_axes(np.sum, a, [0, 1]),
}


class Functions(Case):
    def agree(self, name, have, want):
        have, want = np.asarray(have), np.asarray(want)
        self.assertEqual(have.shape, want.shape, name)
        np.testing.assert_allclose(have, want, rtol=2e-4, atol=2e-5, err_msg=name)

    def test_rows(self):
        for name, function in ROWS.items():
            with np.errstate(all="ignore"):
                want = function(A.copy(), B, I, V)
            self.agree(name, vf.jit(function)(A, B, I, V), want)
            self.agree(name, function(*map(vf.array, (A, B, I, V))), want)

    def test_numbers_that_are_none(self):
        for name, function in {"nan_to_num": np.nan_to_num, "nan_to_num to": lambda e: np.nan_to_num(e, nan=1.0, posinf=2.0, neginf=3.0),
                               "isclose": lambda e: np.isclose(e, e[::-1], equal_nan=True), "equal": lambda e: np.array_equal(e, e),
                               "median": np.median, "heaviside": lambda e: np.heaviside(e, 0.5), "cbrt": np.cbrt}.items():
            with np.errstate(all="ignore"):
                want = function(E)
            self.agree(name, vf.jit(function)(E), want)

    def test_integers(self):
        for function in (np.median, np.nanmean, np.gradient, np.cov, np.nan_to_num, lambda n: np.fmod(n, 3), lambda n: np.convolve(n, n)):
            n = np.int32([3, -1, 4, 1, -5])
            self.agree(str(function), vf.jit(function)(n), function(n))

    def test_unique(self):
        for have, want in zip(np.unique(vf.array(I), return_index=True, return_inverse=True, return_counts=True),
                              np.unique(I, return_index=True, return_inverse=True, return_counts=True)):
            self.agree("unique", np.asarray(have).reshape(-1), want.reshape(-1))

    def test_gradients(self):
        for function in (np.median, lambda x: np.interp(x, np.float32([-2, 0, 2]), np.float32([1, 3, -1])).sum(),
                         lambda x: np.convolve(x, x[:2]).sum(), lambda x: np.sinc(x).sum(), lambda x: np.cov(x)):
            step, x = 1e-3, V.astype("f8")
            want = [(float(function(x + d)) - float(function(x - d))) / (2 * step) for d in np.eye(7) * step]
            self.agree("gradient", vf.grad(function)(vf.array(x)), want)

    def test_refused(self):
        for call, kind, says in (
                (lambda: vf.jit(lambda n: np.bincount(n))(I[0]), TypeError, "give minlength=n for the numbers 0 to n - 1"),
                (lambda: vf.jit(lambda x: np.percentile(x, 130))(V), ValueError, "percentiles 0 to 100"),
                (lambda: vf.jit(lambda x: np.median(x, axis=2))(A), IndexError, "axis 2"),
                (lambda: np.quantile(vf.array(V), 0.5, method="lower"), TypeError, "method is 'lower'; there is 'linear'"),
                (lambda: np.split(vf.array(V), 2), ValueError, "2 parts of an axis of 7 elements are not of one size; numpy.array_split"),
                (lambda: np.convolve(vf.array(A), vf.array(V)), ValueError, "takes two arrays of one axis"),
                (lambda: np.convolve(vf.array(V), vf.array(V), "wide"), ValueError, "takes 'full', 'same' or 'valid'"),
                (lambda: np.select([vf.array(V) > 0], []), ValueError, "give one choice for each condition"),
                (lambda: np.average(vf.array(A), weights=V), ValueError, "give them the shape of a"),
                (lambda: np.array_split(vf.array(V), 0), ValueError, "takes 1 or more"),
                (lambda: np.gradient(vf.array(V), [1.0] * 7), TypeError, "one distance for each axis, a number"),
                (lambda: np.gradient(vf.array(V), 1.0, 2.0), TypeError, "give one for all, or one for each"),
                (lambda: np.gradient(vf.array(V[:1])), ValueError, "axis 0 has 1 elements; takes 2 or more"),
                (lambda: np.put_along_axis(vf.array(V), I[0], 1.0, 0), TypeError, "arrays of viewfold do not change")):
            with self.assertRaisesRegex(kind, says):
                call()


if __name__ == "__main__":
    unittest.main()
