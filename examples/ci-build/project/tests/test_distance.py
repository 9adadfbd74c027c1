"""The quick way against the definition, and what any distance must satisfy."""

# ruff: noqa: PT009 - the project must test itself with nothing but Python's own library

import itertools
import os
import unittest

from edits.distance import by_definition, distance

LONGEST = int(os.environ.get("LONGEST", "8"))
WORDS = [
    "".join(letters)
    for length in range(LONGEST + 1)
    for letters in itertools.product("ab", repeat=length)
]


class DistanceTest(unittest.TestCase):
    """Exhaustive over words of up to LONGEST letters."""

    def test_known_pairs(self) -> None:
        self.assertEqual(distance("kitten", "sitting"), 3)
        self.assertEqual(distance("", "abc"), 3)

    def test_equals_the_definition_on_all_short_words(self) -> None:
        for left, right in itertools.product(WORDS, repeat=2):
            self.assertEqual(distance(left, right), by_definition(left, right), (left, right))

    def test_is_symmetric_and_zero_only_on_equal_words(self) -> None:
        for left, right in itertools.combinations(WORDS, 2):
            there = distance(left, right)
            self.assertEqual(there, distance(right, left), (left, right))
            self.assertGreater(there, 0, (left, right))
