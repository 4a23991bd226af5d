"""nbgrader's own `autograde` with this judge: one line of nbgrader_config.py.

    c.Autograde.autograde_preprocessors = __import__("autograder.grading.nbgrader_plugin", fromlist=["JUDGE"]).JUDGE

`Judge` takes the place of nbgrader's `Execute`; late penalties, manual grading and feedback stay nbgrader's.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat.notebooknode import NotebookNode
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Bool, Unicode

from autograder.grading import grade, gradebook
from autograder.grading.cohort import grade_one
from autograder.grading.controller import Zygote
from autograder.grading.handed import Handed, beside
from autograder.refusal import Refusal


@cache
def _zygote(device: str, unsafe: bool) -> Zygote:
    """One for all submissions of a run; it ends with this process."""
    return Zygote(device, unsafe=unsafe).__enter__()


class Judge(NbGraderPreprocessor):
    """Answers in an isolated process, judged outside it, in place of running checks in the student's kernel."""

    device = Unicode("cpu", help="where answers are computed: cpu, cuda or mps").tag(config=True)
    unsafe = Bool(False, help="without isolation, where the system has no namespaces").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """The notebook with the judge's verdicts as the outputs of its check cells."""
        names = resources["nbgrader"]
        instructor = grade.instructors(grade.released()).get(names["notebook"])
        if instructor is None:
            raise NbGraderException(f"{names['notebook']} is none of the workbook's notebooks: leave it to Execute.")
        course = Path(names["db_url"].removeprefix("sqlite:///")).parent
        with tempfile.NamedTemporaryFile("w", suffix=".ipynb", encoding="utf-8") as file:
            nbformat.write(nb, file)
            file.flush()
            folder = Path(resources["metadata"]["path"])  # where nbgrader has put the submission's other files
            weights = beside(folder / "notebook", names["student"])
            handed = Handed(names["student"], names["notebook"], file.name, weights=weights)
            try:
                zygote = _zygote(self.device, self.unsafe)
                graded = grade_one(zygote, handed, instructor, grade.secret(course)[0], self.device)
            except Refusal as why:
                raise NbGraderException(str(why)) from None
        if graded.problem:
            raise NbGraderException(f"{names['student']}, {names['notebook']}: {graded.problem}")
        return nbformat.from_dict(gradebook.notebook(graded, instructor)), resources


_stages = Autograde.class_traits()["autograde_preprocessors"].default()
JUDGE = [Judge if stage is Execute else stage for stage in _stages]
