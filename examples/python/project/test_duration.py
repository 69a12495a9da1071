import unittest

from duration import seconds


class Seconds(unittest.TestCase):
    def test_valid(self):
        for text, want in {"90s": 90, "1h30m": 5400, "2d": 172800}.items():
            with self.subTest(text):
                self.assertEqual(seconds(text), want)

    def test_invalid(self):
        for text in ["", "soon", "5m later", "1.5h"]:
            with self.subTest(text), self.assertRaisesRegex(ValueError, "invalid duration"):
                seconds(text)
