"""The report in a real browser: from a folder and served, by mouse, keyboard and on a phone, in both colour schemes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from rdforget.records import Record, Status
from runners.journal import Journal, read_records
from runners.report.reading import PAGES, ROWS
from runners.report.site import write_report
from tests.builders import entry
from tests.reported import add, asked, made_run

SUITE = "synthetic-fc:facts=120,questions=60,seed=3"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)
EVIL = '</script><script>document.title="gone"</script><img src=x onerror=alert(1)> &amp; \x1b[31mred \u202egnp.exe'
SHOWN = EVIL.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e")
VIEWS = ("#/", "#/funnel", "#/items?run=0&verdict=wrong", "#/item/0/3", "#/compare")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window; `RDF_REQUIRE_BROWSER=1` makes its absence a failure."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        reason = f"none of {', '.join(NAMES)} is installed"
        if os.environ.get("RDF_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Path]:
    """The full method and one that does not forget, on generated facts."""
    (folder / "sweep.yaml").write_text(f'suites: ["{SUITE}"]\nswitches: [[], [no-forget]]\n', "utf-8")
    command = [sys.executable, "-m", "runners", "sweep", "sweep.yaml", "--json", "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return sorted(path.parent for path in (folder / json.loads(done.stdout)["run_dir"]).glob("*/manifest.json"))


@pytest.fixture(scope="module")
def site(folder: Path, runs: list[Path]) -> Path:
    write_report(runs, None, folder / "site")
    return folder / "site"


class Visit:
    """A page, with what it asked for and what it complained of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def open(self, site: Path, view: str = "") -> Page:
        self.page.goto(f"{(site / 'index.html').as_uri()}{view}")
        expect(self.page.locator("h1")).to_be_visible()
        expect(self.page.locator("main [role=status]", has_text="Reading")).to_have_count(0)
        return self.page

    def files(self, prefix: str) -> list[str]:
        """The data files that were asked for, by the beginnings of their names."""
        names = [re.sub(r".*/|\.js.*", "", url) for url in self.requests]
        return [name for name in names if name.startswith(prefix)]


@contextmanager
def visiting(browser: Browser, schemes: tuple[str, ...] = ("file:", "data:"), **context: object) -> Iterator[Visit]:
    """A visit that asks for nothing off the page and has no error."""
    with browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **context}) as made:  # type: ignore[arg-type]
        made.set_default_timeout(15_000)
        visit = Visit(made.new_page())
        yield visit
        assert not visit.complaints
        assert [url for url in visit.requests if not url.startswith(schemes)] == []


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    with visiting(browser) as one:
        yield one


def count(page: Page) -> Locator:
    return page.locator(".count")


def chosen(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name, exact=True)


def first(page: Page) -> Locator:
    return page.locator("table.list a.open").first


def scheme(page: Page) -> str:
    """Whether text is dark on light or light on dark, as it is painted."""
    found: str = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", found)[0])
    return "light" if red > 127 else "dark"


def test_the_overview_from_a_folder(visit: Visit, site: Path, runs: list[Path]) -> None:
    page = visit.open(site)
    for title in ("Scores", "Results", "Figures", "Faults", "Calls a question, by stage", "Manifests"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="Scores of the full method")).to_be_visible()
    assert page.get_by_role("img", name="Paired differences").evaluate("image => image.naturalWidth") > 0
    manifest = page.locator("details", has_text=runs[0].name).first
    manifest.locator("summary").click()
    expect(manifest.locator("pre")).to_contain_text('"fingerprint"')
    page.get_by_role("link", name="Loss funnel").click()
    expect(page.locator(".panel")).to_have_count(2)
    page.locator("a.lost").first.click()  # from a number to its questions
    expect(count(page)).to_have_text(re.compile(r"^\d+ questions?$"))
    expect(page.locator("table.list tbody tr").first).to_contain_text("lost at")


def test_filter_search_and_sort(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#/items")
    expect(count(page)).to_have_text("120 questions")
    chosen(page, "Verdict").select_option("wrong")
    expect(count(page)).not_to_have_text("120 questions")
    wrong = int((count(page).text_content() or "").split()[0])
    assert 0 < wrong < 120
    for verdict in page.locator("table.list .verdict").all_text_contents():
        assert verdict == "✕wrong"
    chosen(page, "Run").select_option("0")
    expect(count(page)).not_to_have_text(f"{wrong} questions")
    page.get_by_role("link", name="Reset").click()
    expect(count(page)).to_have_text("120 questions")
    words = (first(page).text_content() or "").split()
    page.get_by_label("Search").fill(f"{words[-1]} {words[0]}".upper())  # any order, any case
    expect(count(page)).not_to_have_text("120 questions")
    expect(first(page)).to_contain_text(words[-1])
    page.get_by_label("Search").fill("no such words")
    expect(page.get_by_text("No question is like this.")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    header = page.get_by_role("columnheader", name="View tokens")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    tokens = [int(text.replace(",", "")) for text in page.locator("table.list td.number").all_text_contents()]
    assert tokens == sorted(tokens, reverse=True)
    assert len(tokens) == 50
    page.get_by_role("button", name="Last").click()
    expect(page.locator("table.list tbody tr")).to_have_count(20)
    address = page.url
    page.goto("about:blank")
    page.goto(address)  # what is looked for is in the address
    expect(page.locator("table.list tbody tr")).to_have_count(20)
    expect(header).to_have_attribute("aria-sort", "descending")


def test_a_question_by_keyboard(visit: Visit, site: Path) -> None:
    page = visit.open(site)
    page.keyboard.press("i")
    expect(count(page)).to_have_text("120 questions")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("who")
    expect(page).to_have_url(re.compile("q=who"))
    page.keyboard.press("Escape")
    expect(count(page)).to_have_text("120 questions")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(first(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".figure1")).to_be_visible()
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator(".beside")).to_contain_text("1 of 120")
    page.keyboard.press("j")
    expect(page.locator(".beside")).to_contain_text("2 of 120")
    page.keyboard.press("Escape")
    expect(count(page)).to_have_text("120 questions")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("c")
    expect(page.locator("h1")).to_have_text("Compare")


def test_the_figure_of_a_question(visit: Visit, site: Path, runs: list[Path]) -> None:
    records = list(read_records(runs[0]))
    at, record = next(
        (at, one)
        for at, one in enumerate(records)
        if one.trace and any(entry.superseded_by for entry in one.trace.memory.entries) and one.trace.view.packed
    )
    assert record.trace
    entries, view = record.trace.memory.entries, record.trace.view
    page = visit.open(site, f"#/item/0/{at}")
    expect(page.locator(".entry")).to_have_count(len(entries))
    expect(page.locator("li.packed")).to_have_count(len(view.packed))
    expect(page.locator(".budget")).to_have_attribute("aria-label", f"The view: {view.tokens} of 2,048 tokens")
    expect(page.locator(".budget span")).to_have_count(len(view.packed))
    replaced = [entry for entry in entries if entry.superseded_by]
    expect(page.locator("path.replaced")).to_have_count(len(replaced))
    expect(page.locator("path.packs")).to_have_count(len(view.packed))
    expect(page.locator("path.rests")).not_to_have_count(0)  # from the lines of the source
    expect(page.locator(".status h4", has_text="SUPERSEDED")).to_contain_text("not eligible")
    expect(page.locator(".way li")).to_have_count(8)
    expect(page.locator(".answer")).to_contain_text(record.answer.text if record.answer else "")
    page.locator(".entry.superseded .jump").first.click()
    expect(page.locator(".entry:focus")).to_contain_text(str(replaced[0].superseded_by))
    page.locator(".others a").click()
    expect(page.locator(".tags")).to_contain_text("no-forget")


def test_of_a_long_memory_what_tells_comes_first(visit: Visit, folder: Path) -> None:
    entries = [entry(f"m{n}", f"Fact {n}", slot=f"fact {n}||") for n in range(60)]
    entries.append(entry("old", "Fact of before", Status.SUPERSEDED, superseded_by="m7"))
    record = asked(0, entries=entries)
    assert record.trace
    view = replace(record.trace.view, packed=record.trace.view.packed[9:7:-1])
    run = made_run(folder / "long", [replace(record, trace=replace(record.trace, view=view))])
    write_report([run], None, folder / "long-site")
    page = visit.open(folder / "long-site", "#/item/0/0")
    expect(page.locator(".entry strong")).to_have_text(["m9", "m8"])
    page.get_by_role("button", name="Show the one entry").click()
    expect(page.locator("path.replaced")).to_have_count(0)
    page.locator(".entry.superseded .jump").click()  # to an entry that is not shown yet
    expect(page.locator(".entry:focus strong")).to_have_text("m7")
    expect(page.locator(".entry")).to_have_count(61)
    expect(page.locator("path.replaced")).to_have_count(1)


def test_two_runs_side_by_side(visit: Visit, site: Path) -> None:
    page = visit.open(site, "#/compare")
    lead = page.locator(".lead")
    expect(lead).to_contain_text("A − B: +")
    expect(lead).to_contain_text("A is better")
    became = page.locator("table.list tbody td:last-child")
    kinds = became.all_text_contents()
    assert kinds
    assert kinds == sorted(kinds)
    assert set(kinds) <= {"only A is right", "only B is right"}
    expect(chosen(page, "Show").locator("option").first).to_have_text(f"flipped ({len(kinds)})")
    page.locator("summary").first.click()
    expect(page.locator("details")).to_contain_text("no-forget")
    page.get_by_role("button", name="Swap A and B").click()
    expect(lead).to_contain_text("A − B: −")
    expect(lead).to_contain_text("B is better")
    chosen(page, "Show").select_option("all")
    expect(page.locator(".pager")).to_contain_text("page 1 of 2")
    page.locator("table.list a.open").first.click()
    page.get_by_role("link", name="Back to the list").click()
    expect(page.locator("h1")).to_have_text("Compare")
    expect(lead).to_contain_text("A − B: −")


def test_dark_and_light(browser: Browser, site: Path) -> None:
    with visiting(browser, color_scheme="dark") as visit:
        page = visit.open(site)
        assert scheme(page) == "dark"
        theme = page.locator("#theme")
        expect(theme).to_have_text("Theme: auto")
        theme.click()
        expect(theme).to_have_text("Theme: light")
        assert scheme(page) == "light"
        page.reload()
        expect(theme).to_have_text("Theme: light")  # it is remembered
        assert scheme(page) == "light"
    with visiting(browser, color_scheme="light") as visit:
        page = visit.open(site)
        assert scheme(page) == "light"
        page.locator("#theme").click()
        page.locator("#theme").click()
        assert scheme(page) == "dark"


def test_nothing_stands_in_the_way_of_a_reader(visit: Visit, site: Path) -> None:
    axe = Axe()
    for view in VIEWS:
        page = visit.open(site, view)
        # Colours are all that differs between the schemes.
        for colours, only in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=colours)  # type: ignore[arg-type]
            assert scheme(page) == colours
            # Preloaded, the style sheet would be read again, which the page's policy forbids.
            found = axe.run(page, options={"preload": False, **only}).response["violations"]
            bad = [one for one in found if one["impact"] in ("serious", "critical")]
            assert not bad, (view, colours, [(one["id"], [node["html"] for node in one["nodes"]][:5]) for one in bad])


def test_on_a_phone(browser: Browser, site: Path) -> None:
    with visiting(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True) as visit:
        for view in VIEWS:
            page = visit.open(site, view)
            assert page.evaluate("() => document.documentElement.scrollWidth") == 390, view
        page = visit.open(site, "#/items")
        first(page).tap()
        expect(page.locator(".figure1")).to_be_visible()


def test_text_of_others_is_text(visit: Visit, folder: Path, runs: list[Path]) -> None:
    poisoned = folder / "poisoned"
    poisoned.mkdir()
    shutil.copy(runs[0] / "manifest.json", poisoned)
    with Journal(poisoned) as journal:
        for at, record in enumerate(read_records(runs[0])):
            journal.add_record(at, with_text(record, EVIL), 0.0)
    write_report([runs[0], poisoned], None, folder / "evil")
    page = visit.open(folder / "evil", "#/items?run=1")
    title = page.title()
    expect(first(page)).to_have_text(SHOWN)
    page.get_by_label("Search").fill("onerror=alert(1)>")
    expect(count(page)).to_have_text("60 questions")
    chosen(page, "Question type").select_option(SHOWN)
    first(page).click()
    expect(page.locator("h1")).to_have_text(SHOWN)
    for place in (".entry .said", "li.packed .said", ".answer .said", ".tag"):
        expect(page.locator(place).first).to_have_text(SHOWN)
    for view in VIEWS:
        visit.open(folder / "evil", view.replace("/item/0", "/item/1"))
        assert page.locator("main script, main img[src=x]").count() == 0
        assert not set(page.locator("body").inner_text()) & {"\x1b", "\u202e"}
    assert title != "gone"


def with_text(record: Record, text: str) -> Record:
    """A question whose every text is another."""
    assert record.trace
    assert record.answer
    memory, view = record.trace.memory, record.trace.view
    memory = replace(memory, entries=tuple(replace(one, text=text, slot=text) for one in memory.entries))
    packed = tuple(replace(one, entry=replace(one.entry, text=text)) for one in view.packed)
    return replace(
        record,
        query=replace(record.query, text=text, task_type=text),
        gold=replace(record.gold, answers=(text,)),
        trace=replace(record.trace, memory=memory, view=replace(view, packed=packed)),
        answer=replace(record.answer, text=text),
    )


def test_ten_thousand_questions_are_read_as_they_are_needed(visit: Visit, folder: Path) -> None:
    records = [asked(at, question=f"Where does number {at} live?") for at in range(10_000)]
    run = made_run(folder / "large", records)
    write_report([run], None, folder / "large-site")
    page = visit.open(folder / "large-site")
    assert visit.files("rows") == visit.files("pages") == []
    page.get_by_role("link", name="Items").click()
    expect(count(page)).to_have_text("10,000 questions")
    expect(page.locator("table.list tbody tr")).to_have_count(50)
    assert visit.files("rows") == [f"rows-0-{at}" for at in range(-(-10_000 // ROWS))]
    assert visit.files("pages") == visit.files("texts") == []
    page.get_by_label("Search").fill("number 9876")
    expect(count(page)).to_have_text("1 question")
    first(page).click()
    expect(page.locator(".figure1")).to_be_visible()
    assert visit.files("pages") == [f"pages-0-{9876 // PAGES}"]


@pytest.fixture
def view(folder: Path) -> Iterator[Callable[..., str]]:
    """`rdf view` until the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: object) -> str:
        command = [sys.executable, "-m", "runners", "view", *map(str, args)]
        started.append(subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout
        return started[-1].stdout.readline().split()[0]

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        with process:
            assert process.wait(timeout=20) == 0


def test_a_live_run_is_followed(browser: Browser, folder: Path, view: Callable[..., str]) -> None:
    run = made_run(folder / "live", [asked(0)], items=3)
    address = view(run)
    with visiting(browser, (address,)) as visit:
        page = visit.page
        page.goto(f"{address}#/items")
        expect(count(page)).to_have_text("1 question")
        expect(page.locator("#live")).to_have_text("live: 1 of 3")
        first(page).focus()
        add(run, [asked(1, question="Where is Orla?"), asked(2, answer="Lyon")])
        expect(page.locator("#live")).to_have_text("live: 3 of 3", timeout=20_000)
        expect(count(page)).to_have_text("3 questions")
        expect(page.locator("table.list")).to_contain_text("Where is Orla?")
        expect(first(page)).to_be_focused()  # whoever reads is not thrown out
        assert len([url for url in visit.requests if url.endswith("base.js")]) == 1  # without a reload
