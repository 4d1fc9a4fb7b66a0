"""What the tests share."""

import unittest

import numpy as np

import viewfold as vf

__all__ = ["Case", "np", "vf"]


class Case(unittest.TestCase):
    def same(self, have, want):
        """Equal shapes, dtypes and elements."""
        want = np.asarray(want)
        self.assertEqual(tuple(have.shape), want.shape)
        self.assertEqual(have.dtype.name, want.dtype.name)
        np.testing.assert_array_equal(np.asarray(have), want)

    def close(self, have, want, bound=1e-5):
        np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=bound, atol=bound)
