"use strict";
// Where evidence and answers are lost, as bars and as the tables of `rdf funnel`.
rdf.bar = (parts, whole) => {
  // Each part lies over the one before: what is wider comes first.
  const { el } = rdf;
  const strips = parts.map(([value, kind]) => {
    const strip = el("span", { class: kind });
    strip.style.width = `${whole ? (100 * value) / whole : 0}%`;
    return strip;
  });
  return el("span", { class: "strip", "aria-hidden": "true" }, strips);
};

rdf.pages.funnel = () => {
  const { el, said, link, number } = rdf, { groups, runs } = rdf.index;

  function panel(at, count) {
    const lost = (stage, n, how) => (n
      ? el("a", { href: link("items", { run: at, end: rdf.ending(how, stage) }), class: how },
        `${how === "lost" ? "−" : "+"}${number(n)}`, el("span", { class: "unseen" }, ` ${how} at ${stage}`))
      : null);
    const rows = count.stages.map(([stage, known, whole, some, gone, back]) => el("tr", null,
      el("th", { scope: "row" }, stage),
      el("td", { class: "bar" }, known ? rdf.bar([[some, "some"], [whole, "whole"]], known) : null),
      el("td", { class: "number" }, known ? number(whole) : "unknown"),
      el("td", { class: "number" }, lost(stage, gone, "lost")),
      el("td", { class: "number" }, lost(stage, back, "recovered"))));
    return el("section", { class: "panel" },
      el("h3", null, said(runs[at].label)),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Loss funnel of ${runs[at].label}` },
        el("table", { class: "bars" },
          el("thead", null, el("tr", null,
            el("th", { scope: "col" }, "stage"),
            el("th", { scope: "col" }, `of ${number(count.followed)} followed`),
            el("th", { scope: "col", class: "number" }, "whole"),
            el("th", { scope: "col", class: "number" }, "lost"),
            el("th", { scope: "col", class: "number" }, "recovered"))),
          el("tbody", null, rows))));
  }

  return [
    el("h1", { tabindex: "-1" }, "Loss funnel"),
    el("p", { class: "lead" }, "How far the evidence of each question comes: into the history that it may look at, " +
      "into memory, among the eligible entries, the candidates, the selected and the packed ones, into the answer, " +
      "and what the scorer gave. A question is lost at the first stage that has not the whole of it."),
    el("p", { class: "legend" },
      el("span", { class: "key whole" }), " the whole evidence, or full score ",
      el("span", { class: "key some" }), " some of it"),
    groups.map((group) => [
      el("h2", null, said(group.suite)),
      el("div", { class: "panels" }, group.counts.map((count, at) => panel(group.runs[at], count))),
      group.sheets.map((one) => rdf.sheet(one, "h3")),
    ]),
  ];
};
