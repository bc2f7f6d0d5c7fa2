"""The schema of own data: which files a folder holds, which keys their lines have, and whether a line keeps to them.

`rdf data schema` prints it, so what is written here is what users read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from textwrap import fill

from rdforget.records import Protocol
from rdforget.suites.jsonl import Line
from rdforget.suites.keys import DATE, FLAG, ID, LETTER, LETTERS, TEXT, TEXTS, Key, listed

TASKS, HISTORIES, FOLDER, ABOUT = "tasks.jsonl", "histories.jsonl", "histories", "suite.yaml"

TASK_KEYS = (
    Key("id", ID, "the question's name, once in the file; it stays the same for ever", required=True),
    Key("history", ID, "the id of the history that the question is about", required=True),
    Key("question", TEXT, "the question", required=True),
    Key("answers", TEXTS, "right answers, any of which will do; for an abstention, why there is none"),
    Key("evidence", TEXTS, "refs of the lines that hold the answer, for `rdf funnel` and `rdf show`"),
    Key("options", TEXTS, "up to four answers to choose from, shown as (a) to (d)"),
    Key("option", LETTER, "the letter of the right option"),
    Key("rubric", TEXTS, "criteria, each of which a judge grades 0, 0.5 or 1"),
    Key("abstention", FLAG, "whether right is to say that the history does not hold the answer"),
    Key("type", TEXT, "a type of question, by which tables and funnels count"),
    Key("date", DATE, "when the question is asked"),
)
LINE_KEYS = (
    Key("history", ID, f"the id of the history that the line belongs to; only in {HISTORIES}", required=True),
    Key("text", TEXT, "what was said or noted", required=True),
    Key("ref", ID, "the line's name within its history; without it #1, #2, ... by position"),
    Key("session", ID, "the session that the line belongs to"),
    Key("when", DATE, "the date of the line or its session; lines stand in the order of their dates"),
    Key("speaker", ID, "who says it"),
)
GOLDS = ("answers", "option", "rubric", "abstention")


def gold_complaints(line: Line) -> Iterator[str]:
    """What stands in the way of scoring a question whose keys are as they should be."""
    row = line.row
    if not any(row.get(name) for name in GOLDS):
        yield f"{line.where} has nothing to score by: give {', '.join(GOLDS[:-1])} or {GOLDS[-1]}"
    options = row.get("options", [])
    if len(options) > len(LETTERS):
        yield f"{line.where} has {len(options)} options: the option score knows {len(LETTERS)}, (a) to (d)"
    if "option" in row and row["option"] not in LETTERS[: len(options)]:
        yield f"{line.where}: option {row['option']!r} is none of its {len(options)} options"


def schema() -> str:
    """The whole of it in words."""
    names = ", ".join(item.name for item in fields(Protocol))
    settings = fill(names, 100, subsequent_indent=" " * 13)
    return f"""Own data is a folder. Its name is the suite's, and `--suite path/to/folder` takes it.

{TASKS}: one question a line, a JSON object with the keys
{listed(TASK_KEYS)}
At least one of {", ".join(GOLDS)} must be there. Methods never see any of them, nor evidence.

{HISTORIES}: one line of a history a line, oldest first, a JSON object with the keys
{listed(LINE_KEYS)}
Or {FOLDER}/<id>.jsonl in its place, a file a history, whose lines have no key history.

{ABOUT}: optional, a mapping with the keys
  title      a name for people
  note       the rule of precedence that readers are told, such as: a later line replaces an earlier one
  metrics    a list of rule, judge, option and rubric, the headline first; without it rule, option and rubric,
             as far as some question has a gold for them, else judge
  protocol   what differs from the paper's protocol, by the keys
             {settings}

Dates are as 2024-03-15 or 2024-03-15 10:00. Files are UTF-8. `rdf data check path/to/folder` names every mistake.
"""
