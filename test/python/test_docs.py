"""The examples of docs/python.md."""

import doctest
import pathlib
import re

from common import Case

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


class Docs(Case):
    def test_page(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
        self.assertGreater(len(blocks), 10)
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/python.md", str(PAGE), 0)
        said = []
        runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL & 0, verbose=False)
        result = runner.run(test, out=said.append)
        self.assertEqual(result.failed, 0, "".join(said))
        self.assertGreater(result.attempted, 40)
