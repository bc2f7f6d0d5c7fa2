"use strict";
// The page of one question.
rdf.pages.item = (route) => {
  const { el, said, block, link, number, store } = rdf;
  const run = Number(route.path[1]), at = Number(route.path[2]), of = rdf.index.runs[run];
  const body = el("div", { class: "item" }, el("h1", { tabindex: "-1" }, "Item"), el("p", { role: "status" }, "Reading …"));

  function beside() {
    const rows = store.walk.some((one) => one.run === run && one.at === at) ? store.walk : store.of(run);
    const here = rows.findIndex((one) => one.run === run && one.at === at);
    const go = (one, rel, text) => (one
      ? el("a", { class: "button", rel, href: link(`item/${one.run}/${one.at}`) }, text)
      : el("span", { class: "button off" }, text));
    return el("nav", { class: "beside", "aria-label": "Questions" },
      el("a", { href: rdf.back || "#/items" }, "← Back to the list"),
      el("span", { class: "quiet" }, here < 0 ? "" : `${number(here + 1)} of ${number(rows.length)}`),
      go(rows[here - 1], "prev", "Previous"), go(rows[here + 1], "next", "Next"));
  }

  function way(page) {
    const stop = page.outcome === "lost" || page.outcome === "recovered" ? page.lost : "";
    const units = page.units.length;
    return el("ol", { class: "way", "aria-label": "The way of the evidence" }, rdf.STAGES.map((stage, n) => {
      const share = page.shares[n], judged = stage === "answer" || stage === "credit";
      const some = judged ? Number(share?.toFixed(3)) : `${Math.round(share * units)} of ${units}`;
      const state = share === null ? "unknown" : share === 1 ? "whole" : share > 0 ? "part" : "none";
      const text = share === null ? "unknown" : share === 1 ? (judged ? (stage === "answer" ? "has the gold" : "full") : "whole")
        : share > 0 ? String(some) : judged && stage === "answer" ? "without the gold" : "none";
      return el("li", { class: `${state}${stop === stage ? " stop" : ""}` },
        el("span", { class: "sign", "aria-hidden": "true" }, { unknown: "·", whole: "●", part: "◐", none: "○" }[state]),
        el("span", { class: "stage" }, stage), el("span", { class: "small" }, text),
        stop === stage ? el("span", { class: "small strong" }, "lost here") : null);
    }));
  }

  function others(page) {
    const rows = store.alike(page.id, of.suite).filter((one) => one.run !== run);
    if (!rows.length) return null;
    return el("section", null, el("h2", null, "The same question in the other runs"),
      el("ul", { class: "others" }, rows.map((one) => el("li", null,
        el("a", { href: link(`item/${one.run}/${one.at}`) }, said(rdf.index.runs[one.run].label)),
        " ", rdf.verdict(one.verdict, one.value), " ", said(one.answer || "none"),
        el("span", { class: "quiet" }, ` ${rdf.ending(one.outcome, one.lost)}`)))));
  }

  function scores(page) {
    return rdf.sheet({
      title: "Scores", columns: ["metric", "value", "verdict", "detail"], left: [0, 2, 3], notes: [],
      rows: page.scores.map(([metric, value, verdict, detail]) =>
        [metric, value === null ? "–" : String(Number(value.toFixed(4))), verdict, detail]),
    });
  }

  function calls(page) {
    if (!page.calls.length) return null;
    const columns = ["role", "model", "source", "ended", "prompt", "cached", "completion", "reasoning", "sent", "429s", "parameters"];
    const rows = page.calls.map((call) => call.slice(0, 11).map((value) =>
      (typeof value === "number" ? number(value) : value)));
    const replies = page.calls.filter((call) => call[11]);
    return el("div", null,
      rdf.sheet({ title: "Calls", columns, left: [0, 1, 2, 3, 10], rows, notes: [] }),
      replies.map((call) => el("details", null, el("summary", null, "Reply to ", said(call[0])),
        el("pre", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Reply to ${call[0]}` }, call[11]))));
  }

  function draw(page, memory) {
    body.replaceChildren(...[
      beside(),
      el("h1", { tabindex: "-1" }, said(page.question || "(no text)")),
      el("p", { class: "tags" }, rdf.verdict(page.verdict, page.scores[0]?.[1] ?? null),
        el("span", { class: `ending ${page.outcome}` }, rdf.ending(page.outcome, page.lost)),
        page.type ? el("span", { class: "tag" }, said(page.type)) : null,
        page.date ? el("span", { class: "tag" }, "asked ", said(page.date)) : null,
        el("span", { class: "quiet" }, said(page.id), " · ", said(of.suite), " · ", said(of.method), " · ",
          said(of.switches), " · ", said(of.model))),
      page.replaced ? el("p", { class: "quiet" }, "What is missing at eligible was superseded by other evidence of the " +
        "question: forgetting at its work, unless the question asks about the past.") : null,
      page.failure ? el("p", { class: "problem" }, "Failed in ", said(page.failure)) : null,
      page.faults.length ? el("ul", { class: "notes" }, page.faults.map((one) => el("li", { class: "fault" }, said(one)))) : null,
      el("dl", { class: "facts" },
        el("div", null, el("dt", null, "Answer"), el("dd", null, page.answer ? block(page.answer) : "none")),
        el("div", null, el("dt", null, page.abstention ? "Gold: to say that it is not there" : "Gold"),
          el("dd", null, block(page.gold || "–")))),
      page.options.length ? el("ul", { class: "notes" }, page.options.map((one) => el("li", null, block(one)))) : null,
      el("h2", null, "The way of the evidence"), way(page),
      el("h2", null, "Stored against used"),
      memory && page.trace ? rdf.figure.draw(page, memory)
        : el("p", null, "No memory was built: the question failed before."),
      page.trace?.stats.length
        ? el("p", { class: "quiet" }, "memory: ", page.trace.stats.map(([name, value], n) => [n ? "; " : "", `${name}: `, said(value)]))
        : null,
      scores(page), others(page), calls(page),
    ].filter(Boolean));
  }

  async function fill() {
    if (!of || !Number.isInteger(at)) throw new Error("there is no such run in this report");
    const pages = await rdf.load(`pages-${run}-${Math.floor(at / rdf.index.pages)}`);
    const page = pages.find((one) => one.ordinal === at);
    if (!page) throw new Error("this question has not been asked yet");
    const memory = typeof page.memory === "string" ? await rdf.load(page.memory) : page.memory;
    await store.all();
    draw(page, memory);
    document.title = `${page.question.slice(0, 60)} – ${rdf.index.title}`;
    body.querySelector("h1").focus({ preventScroll: true });
  }

  fill().catch((error) => body.replaceChildren(el("h1", { tabindex: "-1" }, "Item"), rdf.problem(error)));
  // A record does not change once it is there: a live run leaves this page as it is.
  return Object.assign([body], { refresh: async () => store.all() });
};
