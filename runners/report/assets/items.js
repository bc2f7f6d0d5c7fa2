"use strict";
// Every question of every run: filtered, searched, sorted. The address holds what is looked for.
rdf.pages.items = (route) => {
  const { el, said, link, number, store } = rdf, runs = rdf.index.runs;
  const wanted = Object.fromEntries(route.parameters);
  const count = el("p", { class: "count", role: "status" }, "Reading …");
  const list = el("div", { class: "results" });
  const selects = new Map();

  const LABELS = {
    run: "Run", suite: "Suite", method: "Method and switches", type: "Question type", verdict: "Verdict",
    end: "Loss stage", fault: "Failure kind",
  };
  const SORTS = {
    position: "Order of the suite", question: "Question", type: "Type", verdict: "Verdict", end: "Loss stage",
    tokens: "View tokens",
  };

  const search = el("input", {
    type: "search", id: "search", autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/",
    placeholder: "question, gold, answer or id", oninput: () => later(() => change({ q: search.value })),
  });
  search.value = wanted.q || "";
  let timer = 0;
  const later = (act) => { clearTimeout(timer); timer = setTimeout(act, 120); };

  async function change(changes, { page = 0 } = {}) {
    Object.assign(wanted, changes, { page: page ? String(page) : "" });
    for (const [name, value] of Object.entries(wanted)) if (!value) delete wanted[name];
    history.replaceState(null, "", link("items", wanted));
    rdf.route.parameters = new URLSearchParams(wanted);
    if (wanted.q) await store.whole();
    draw();
  }

  const sortBy = (name) => change({ sort: name, down: (wanted.sort || "position") === name && !wanted.down ? "1" : "" });

  const COLUMNS = [
    {
      name: "Question", sort: "question", kind: "wide",
      draw: (one) => [
        el("a", { class: "open", href: link(`item/${one.run}/${one.at}`) }, said(one.question || "(no text)")),
        el("div", { class: "quiet small" }, said(one.id)),
      ],
    },
    { name: "Gold", kind: "text", draw: (one) => said(one.gold) },
    { name: "Answer", kind: "text", draw: (one) => (one.answer ? said(one.answer) : el("em", null, "none")) },
    { name: "Verdict", sort: "verdict", draw: (one) => rdf.verdict(one.verdict, one.value) },
    {
      name: "Evidence", sort: "end",
      draw: (one) => [
        el("span", { class: `ending ${one.outcome}` }, rdf.ending(one.outcome, one.lost)),
        one.faults.map((fault) => el("div", { class: "fault small" }, said(fault))),
      ],
    },
    { name: "Type", sort: "type", draw: (one) => said(one.type || "–") },
    ...(runs.length > 1 ? [{ name: "Run", draw: (one) => said(runs[one.run].label) }] : []),
    {
      name: "View tokens", sort: "tokens", kind: "number",
      draw: (one) => (one.tokens === null ? "–" : number(one.tokens)),
    },
  ];

  function draw() {
    const { found, counts } = store.find(wanted), pages = rdf.list.pages(found);
    const page = Math.min(Number(wanted.page) || 0, pages - 1);
    store.walk = found;
    count.textContent = `${number(found.length)} question${found.length === 1 ? "" : "s"}`;
    for (const [name, select] of selects) {
      const named = (value) => (name === "run" ? runs[value].label : value);
      const choices = [...counts[name]].sort(([a], [b]) => (name === "run" ? a - b : a < b ? -1 : 1));
      if (wanted[name] && !counts[name].has(wanted[name])) choices.push([wanted[name], 0]);
      rdf.offer(select, wanted[name] || "",
        [["", "all"], ...choices.map(([value, n]) => [value, `${named(value)} (${number(n)})`])]);
    }
    order.value = wanted.sort || "position";
    const sorting = { by: wanted.sort || "position", down: Boolean(wanted.down), change: sortBy };
    // What is focused is drawn anew, also by a live run: a row is known by its link, a column by its name.
    const focused = document.activeElement?.closest?.(".results a, .results th button");
    const known = (one) => one?.getAttribute("href") ?? one?.firstChild.textContent;
    const held = known(focused);
    list.replaceChildren(...(found.length
      ? [rdf.list.table("Questions", COLUMNS, rdf.list.slice(found, page), sorting),
        rdf.pager(page, pages, (to) => change({}, { page: to }).then(() => count.scrollIntoView())) || ""]
      : [el("p", null, "No question is like this. ", el("a", { href: "#/items" }, "Show all"))]));
    if (held) [...list.querySelectorAll("a, th button")].find((one) => known(one) === held)?.focus({ preventScroll: true });
  }

  const filters = store.FILTERS.filter((name) => name !== "run" || runs.length > 1).map((name) => {
    const field = rdf.choice(LABELS[name], "", [["", "all"]], (value) => change({ [name]: value }));
    selects.set(name, field.lastChild);
    return field;
  });
  const ordered = rdf.choice("Sort by", "position", Object.entries(SORTS), (value) => change({ sort: value, down: "" }));
  const order = ordered.lastChild;

  async function fill() {
    await store.all((done, files) => { count.textContent = `Reading ${done} of ${files} files`; });
    if (wanted.q) await store.whole();
    draw();
  }

  const busy = fill().catch((error) => count.replaceWith(rdf.problem(error)));
  return Object.assign([
    el("h1", { tabindex: "-1" }, "Items"),
    el("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      el("label", { class: "field search" }, el("span", null, "Search"), search),
      filters, ordered,
      el("div", { class: "field" }, el("span", { "aria-hidden": "true" }, " "),
        el("a", { class: "button", href: "#/items" }, "Reset"))),
    count, list,
  ], { refresh: () => fill(), busy });
};
