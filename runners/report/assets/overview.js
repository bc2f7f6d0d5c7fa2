"use strict";
// What the report opens with: results, figures, costs, faults, manifests.
rdf.pages.overview = () => {
  const { el, said, link, number, sheet } = rdf, index = rdf.index, runs = index.runs;
  const asked = runs.reduce((sum, run) => sum + run.asked, 0);
  const selected = runs.reduce((sum, run) => sum + run.selected, 0);

  function facts() {
    const of = (name) => [...new Set(runs.map((run) => run[name]))];
    const list = (values) => values.flatMap((value, at) => [at ? ", " : "", said(String(value))]);
    const fact = (name, ...value) => el("div", null, el("dt", null, name), el("dd", null, value));
    return el("dl", { class: "facts" },
      fact("Runs", number(runs.length)),
      fact("Questions", asked === selected ? number(asked) : `${number(asked)} of ${number(selected)}`),
      fact("Suites", list(of("suite"))),
      fact("Methods", list(of("method"))),
      fact("Models", list(of("model"))));
  }

  /** Scores as bars; the table below has them too. */
  function scores() {
    const scored = runs.filter((run) => run.score !== null);
    if (scored.length < 2) return null;
    return el("section", null,
      el("h2", null, "Scores"),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" },
        el("table", { class: "bars" },
          el("thead", { class: "unseen" }, el("tr", null,
            ["run", "bar", "score"].map((name) => el("th", { scope: "col" }, name)))),
          el("tbody", null, runs.map((run, at) => el("tr", null,
            el("th", { scope: "row" }, el("a", { href: link("items", { run: at }) }, said(run.label))),
            el("td", { class: "bar" }, rdf.bar([[run.score ?? 0, "whole"]], 100)),
            el("td", { class: "number" }, run.score === null ? "n/a" : run.score.toFixed(1))))))),
      rdf.notes([`Percent by the headline metric, ${[...new Set(runs.map((run) => run.metric))].join(", ")}; ` +
        "a run's name leads to its questions."]));
  }

  function figures() {
    if (!index.figures.length) return null;
    return el("section", null, el("h2", null, "Figures"),
      el("div", { class: "figures" }, index.figures.map((one) => el("figure", null,
        el("div", { class: "scroll paper", tabindex: "0", role: "region", "aria-label": one.name },
          el("img", { src: one.file, alt: one.alt })),
        el("figcaption", null, `${one.alt}. The numbers are in the tables.`)))));
  }

  function faults() {
    const found = runs.flatMap((run, at) => run.faulty.map(([fault, count]) => [at, run.faults[fault], count]));
    const rows = found.map(([at, fault, count]) => el("tr", null,
      el("th", { scope: "row", class: "left" }, said(runs[at].label)),
      el("td", { class: "left" }, el("a", { href: link("items", { run: at, fault }) }, said(fault))),
      el("td", { class: "number" }, number(count))));
    return el("section", null, el("h2", null, "Faults"),
      rows.length
        ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Faults" },
          el("table", null,
            el("thead", null, el("tr", null,
              el("th", { scope: "col", class: "left" }, "run"), el("th", { scope: "col", class: "left" }, "fault"),
              el("th", { scope: "col", class: "number" }, "questions"))),
            el("tbody", null, rows)))
        : el("p", null, "None: every call was answered, and every reply could be used."));
  }

  function manifests() {
    return el("section", null, el("h2", null, "Manifests"),
      el("p", { class: "quiet" }, "What was measured, on what data and with what versions."),
      runs.map((run) => el("details", null, el("summary", null, said(run.label), " ", said(run.id, "quiet")),
        el("pre", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Manifest of ${run.id}` },
          run.manifest))));
  }

  return [
    el("h1", { tabindex: "-1" }, said(index.title)),
    facts(),
    index.notes.length ? el("section", { class: "notices", "aria-label": "Notes" }, rdf.notes(index.notes)) : null,
    scores(),
    sheet(index.results),
    figures(),
    faults(),
    sheet(index.costs),
    sheet(index.calls),
    manifests(),
    el("p", { class: "quiet" }, `Made by ${index.made}.`),
  ];
};
