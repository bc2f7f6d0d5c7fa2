"""The files of a report, which runs are compared in it, and the server that follows a run."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rdforget.records import Answer, AnswerOutcome, Failure, Memory, Record, Score, Verdict
from runners.errors import UserError
from runners.journal import Journal
from runners.report.items import faults_of, verdict_of
from runners.report.payload import Numbering, script, visible
from runners.report.reading import PAGES, ROWS
from runners.report.server import ADDRESS, Followed, following, serving
from runners.report.site import MARKER, build, newest, write_report
from tests.builders import entry
from tests.reported import MEMORY, add, asked, made_run

EVIL = "</script><img src=x onerror=alert(1)>\u2028 \x1b[31mred \u202egnp.exe\x00 &amp; \ud800"
WRONG = "Lyon"


def data(site: Path, name: str) -> Any:
    """What a data file hands to the page."""
    text = (site / "data" / f"{name}.js").read_text("ascii")
    return json.loads(text.removeprefix(f'rdf.take("{name}",').removesuffix(");\n"))


def site_of(tmp_path: Path, *runs: Path) -> Path:
    write_report(runs, None, tmp_path / "site")
    return tmp_path / "site"


@pytest.mark.parametrize("text", [EVIL, "<!--", "\r\n\u2029", "\U0001f600 é"])
def test_no_text_ends_a_script_or_a_line_of_it(text: str) -> None:
    written = script("name", {"text": text})
    assert written.isascii()
    assert "<" not in written
    assert written.count("\n") == 1
    assert json.loads(written[written.index("{") : written.rindex("}") + 1]) == {"text": text}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\tb\r\nc", "a b\\r\nc"),
        ("<b>é 漢</b>", "<b>é 漢</b>"),
    ],
)
def test_what_is_not_to_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_numbers_of_texts() -> None:
    numbers = Numbering()
    assert [numbers.of(text) for text in ("b", "a", "b")] == [0, 1, 0]
    assert numbers.texts == ["b", "a"]


def test_rows_and_pages_lie_in_files_by_their_positions(tmp_path: Path) -> None:
    records = [asked(at) for at in (0, PAGES - 1, PAGES, ROWS - 1, ROWS)]
    site = site_of(tmp_path, made_run(tmp_path / "run", records, items=ROWS + 1))
    [run] = data(site, "index")["runs"]
    assert [name for name, _ in run["rows"]] == ["rows-0-0", "rows-0-1"]
    assert [row[0] for row in data(site, "rows-0-0")] == [0, PAGES - 1, PAGES, ROWS - 1]
    assert [page["ordinal"] for page in data(site, "pages-0-0")] == [0, PAGES - 1]
    pages = {path.stem for path in (site / "data").glob("pages-*")}
    assert pages == {f"pages-0-{at // PAGES}" for at in (0, PAGES, ROWS - 1, ROWS)}
    assert (run["asked"], run["selected"]) == (5, ROWS + 1)


def test_a_row_has_the_beginning_of_its_texts_and_search_the_whole(tmp_path: Path) -> None:
    long = "word " * 100 + "needle"
    site = site_of(tmp_path, made_run(tmp_path / "run", [asked(0), asked(1, answer=long)]))
    rows = data(site, "rows-0-0")
    assert [len(row[10]) for row in rows] == [4, 240]
    assert [row[-1] for row in rows] == [0, 1]
    [[name, _]] = data(site, "index")["runs"][0]["texts"]
    assert data(site, name) == [[1, "Where does Ines live?", "Metz", long]]


def test_the_page_of_a_question(tmp_path: Path) -> None:
    site = site_of(tmp_path, made_run(tmp_path / "run", [asked(0, answer=WRONG)]))
    [page] = data(site, "pages-0-0")
    assert page["memory"] == [
        ["m1", "Ines lives in Metz", "ACTIVE", "ines|home|", None, None, ""],
        ["m2", "Ines lives in Lyon", "SUPERSEDED", "ines|home|", "m1", None, ""],
    ]
    trace = page["trace"]
    assert (trace["barred"], trace["candidates"], trace["selected"], trace["packed"]) == ([1], [0], [0], [[0, 7]])
    assert (trace["budget"], trace["tokens"], trace["carriers"]) == (2048, 7, [[0, [0]]])
    assert (page["outcome"], page["lost"], page["verdict"], page["source"]) == ("lost", "answer", "wrong", None)


def test_a_memory_of_several_questions_is_written_once(tmp_path: Path) -> None:
    records = [asked(at, entries=MEMORY) for at in range(3)]
    records = [replace(record, history="shared") for record in records]
    run = made_run(tmp_path / "run", records)
    with Journal(run) as journal:
        journal.add_build("shared", ())
    site = site_of(tmp_path, run)
    assert {page["memory"] for page in data(site, "pages-0-0")} == {"memory-0-0"}
    assert len(data(site, "memory-0-0")) == 2


def test_text_of_others_in_every_place(tmp_path: Path) -> None:
    evil = EVIL.replace("\ud800", "")  # the journal takes no half of a character
    record = asked(0, question=evil, gold=evil, answer=evil, entries=[entry("m1", evil, slot=evil, evidence=evil)])
    assert record.trace
    trace = replace(record.trace, memory=Memory(record.trace.memory.entries, {"cause": evil, "fallback": evil}))
    failure = Failure("kind" + evil, "stage" + evil, evil)
    record = replace(record, trace=trace, failure=failure, query=replace(record.query, task_type=evil, options=(evil,)))
    run = made_run(tmp_path / "run", [record], model={"backend": "rules", "name": evil})
    site = site_of(tmp_path, run)
    for path in (site / "data").glob("*.js"):
        text = path.read_text("ascii")
        assert "<" not in text
        assert text.count("\n") == 1
        assert not re.search(r"\\u(001b|202e|0000)", text.replace(r"\\u", "")), path


def test_the_page_forbids_the_network_and_reads_no_html(tmp_path: Path) -> None:
    site = site_of(tmp_path, made_run(tmp_path / "run", [asked(0)]))
    page = (site / "index.html").read_text("utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';")
    assert "require-trusted-types-for 'script'" in policy
    assert not re.search(r"<script(?! src=\"[a-z]+\.js\"></script>)|\son\w+=|style=", page)
    for path in site.glob("*.js"):
        used = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bfetch\b|XMLHttp", used)
        assert set(re.findall(r"https?://\S+?(?=\")", used)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("record", "verdict", "faults"),
    [
        (asked(0), "correct", []),
        (asked(0, failure=Failure("timeout", "answer", "late")), "failed", ["answer: timeout"]),
        (
            replace(asked(0), scores=(Score("judge[x]", None, Verdict.INVALID, "rate_limit: 429"),)),
            "invalid",
            ["judge: rate_limit"],
        ),
        (replace(asked(0), answer=Answer("", AnswerOutcome.EMPTY)), "correct", ["answer: empty"]),
        (replace(asked(0), scores=()), "failed", []),
        (replace(asked(0), scores=(Score("rule", None, Verdict.EXCLUDED),)), "excluded", []),
    ],
)
def test_verdicts_and_faults(record: Record, verdict: str, faults: list[str]) -> None:
    assert verdict_of(record) == verdict
    assert list(faults_of(record)) == faults


def test_pairs_are_runs_over_the_same_questions(tmp_path: Path) -> None:
    right, wrong = ([asked(at, answer=answer) for at in range(8)] for answer in ("Metz", WRONG))
    one = made_run(tmp_path / "one", right)
    two = made_run(tmp_path / "two", wrong, off=["no-forget"])
    other = made_run(tmp_path / "other", right, sources={"file": "ab"})
    index = data(site_of(tmp_path, one, two, other), "index")
    assert [group["runs"] for group in index["groups"]] == [[0, 1], [2]]
    [pair] = index["pairs"]
    assert {name: pair[name] for name in ("a", "b", "difference", "wins", "losses", "ties")} == {
        "a": 0,
        "b": 1,
        "difference": 100,
        "wins": 8,
        "losses": 0,
        "ties": 0,
    }
    assert len({run["label"] for run in index["runs"]}) == 3
    assert [run["label"] for run in index["runs"]][:2] == ["mab-fc: full", "mab-fc: no-forget"]


def test_why_there_is_no_difference(tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", [asked(0)], items=2)
    two = made_run(tmp_path / "two", [asked(1)], items=2, off=["no-forget"])
    [pair] = data(site_of(tmp_path, one, two), "index")["pairs"]
    assert pair["refused"] == "no question has a value in both"


def test_a_report_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", [asked(0)])
    site = site_of(tmp_path, run)
    (site / "data" / "old.js").write_text("")
    write_report([run], None, site)
    assert not (site / "data" / "old.js").exists()
    assert json.loads((site / MARKER).read_text())["runs"] == ["run"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "site"]
    with pytest.raises(UserError, match=r"is no report \(it has no report.json\) and is not replaced"):
        write_report([run], None, run)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a folder"):
        write_report([run], None, tmp_path / "file")
    with pytest.raises(UserError, match="cannot hold the report"):
        write_report([run], None, tmp_path / "file" / "site")


def test_the_newest_run_or_its_sweep(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        newest(tmp_path)
    made_run(tmp_path / "runs" / "20260102-000000-b", [asked(0)])
    run = made_run(tmp_path / "runs" / "20260103-000000-a", [asked(0)])
    assert newest(tmp_path) == run
    made_run(tmp_path / "sweeps" / "20260104-000000-s" / "001", [asked(0)])
    (tmp_path / "sweeps" / "20260104-000000-s" / "manifest.json").write_text("{}")
    assert newest(tmp_path) == tmp_path / "sweeps" / "20260104-000000-s"


def test_a_run_without_a_question_yet(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    build([made_run(tmp_path / "run", [], items=9)], None, site, live=True)
    [run] = data(site, "index")["runs"]
    assert (run["asked"], run["selected"], run["rows"], run["score"]) == (0, 9, [], None)


class Browser:
    """Requests to a server, by whom the headers say."""

    def __init__(self, address: str) -> None:
        self.port = int(address.rsplit(":", 1)[1].strip("/"))

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=10)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            reply = connection.getresponse()
            return reply.status, reply.read().decode(), reply.headers
        finally:
            connection.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run", [asked(0)], items=3)


@pytest.fixture
def followed(run: Path) -> Iterator[Followed]:
    with following(lambda: [run], None) as one:
        yield one


@pytest.fixture
def browser(followed: Followed) -> Iterator[Browser]:
    with serving(followed, 0) as address:
        assert address.startswith("http://127.0.0.1:")
        yield Browser(address)


def test_only_files_of_the_report_are_served(browser: Browser, run: Path) -> None:
    status, page, headers = browser.ask("/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "Content-Security-Policy" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"
    assert browser.ask("/report.css")[2]["Content-Type"] == "text/css; charset=utf-8"
    assert browser.ask("/data/index.js?v=1")[0] == 200
    assert browser.ask("/", "HEAD")[:2] == (200, "")
    journal = f"{run}/journal.sqlite"
    for path in ("/nothing", "/../run/journal.sqlite", "/data/../../run/manifest.json", f"/{journal}", f"//{journal}",
                 "/%2e%2e/run/journal.sqlite", "/data", "/data/", "/..%2frun"):  # fmt: skip
        assert browser.ask(path)[0] == 404, path
    assert browser.ask("/", "POST")[0] == 501


def test_only_this_computers_own_pages_are_answered(browser: Browser) -> None:
    port = browser.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert browser.ask("/", Host=host)[0] == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example", ""):
        assert browser.ask("/data/index.js", Host=host)[0] == 421, host
    assert browser.ask("/data/index.js", Sec_Fetch_Site="cross-site")[0] == 403
    assert browser.ask("/data/index.js", Sec_Fetch_Site="same-site")[0] == 403
    assert browser.ask("/data/index.js", Sec_Fetch_Site="same-origin")[0] == 200


def test_a_port_that_is_taken(browser: Browser, followed: Followed) -> None:
    with pytest.raises(UserError, match=f"port {browser.port} cannot be used"), serving(followed, browser.port):
        pass


def test_a_run_that_goes_on_is_built_anew(browser: Browser, followed: Followed, run: Path) -> None:
    assert browser.ask("/data/live.js")[1] == 'rdf.take("live",1);\n'
    assert not followed.refresh()
    add(run, [asked(1)])
    assert followed.refresh()
    assert browser.ask("/data/live.js")[1] == 'rdf.take("live",2);\n'
    assert '"asked":2' in browser.ask("/data/index.js")[1]
    add(run, [asked(2)])
    assert followed.refresh()
    assert '"asked":3' in browser.ask("/data/index.js")[1]
    assert '"live":true' in browser.ask("/data/index.js")[1]


def test_what_cannot_be_read_now_can_be_read_later(browser: Browser, followed: Followed, run: Path) -> None:
    manifest = (run / "manifest.json").read_text("utf-8")
    (run / "manifest.json").write_text("{", "utf-8")
    add(run, [asked(1)])
    for _ in range(2):
        with pytest.raises(UserError, match="cannot be read"):
            followed.refresh()
    assert '"asked":1' in browser.ask("/data/index.js")[1]  # the last whole state stays
    (run / "manifest.json").write_text(manifest, "utf-8")
    assert followed.refresh()
    assert '"asked":2' in browser.ask("/data/index.js")[1]
