"use strict";
// Stored against used, for one question: source, memory with what supersedes what, view against its budget, answer.
rdf.figure = (() => {
  const { el, svg, said, block, number } = rdf;
  const LONG = 40, FEW = 8;
  const SIGNS = { ACTIVE: "●", SUPERSEDED: "○", DEPRECATED: "◇" };

  /** Why the entries of a status may not be used (eq. 5). */
  const barred = (status, past) =>
    (status === "SUPERSEDED" && !past ? "not eligible: the question does not ask about the past"
      : "not eligible: rescue is off");

  function draw(page, entries) {
    const trace = page.trace;
    const place = (list) => new Map(list.map((at, order) => [at, order + 1]));
    const known = {
      byId: new Map(entries.map(([id], at) => [id, at])),
      barred: new Set(trace.barred), rank: place(trace.candidates), chosen: place(trace.selected),
      cost: new Map(trace.packed), carried: new Map(trace.carriers),
    };
    const arrows = svg("svg", { class: "arrows", "aria-hidden": "true" });
    const figure = el("div", { class: "figure1" }, arrows,
      source(page), stored(page, entries, known, () => join()), used(page, entries, known));
    const join = () => connect(figure, arrows, page, entries, known);
    new ResizeObserver(join).observe(figure);
    return figure;
  }

  function source(page) {
    const found = page.source;
    const what = { labels: "labelled as evidence", gold: "that state the gold", none: "known as evidence" }[page.basis];
    const body = found
      ? [el("p", { class: "quiet" }, `${number(found.found)} of ${number(found.total)} lines ${what}`),
        more(found.lines.map(line), FEW, found.found, ["lines", "line"])]
      : el("p", { class: "quiet" }, "The data was not at hand when this report was written: give it with --data-dir.");
    return el("section", { class: "column source" }, el("h3", null, "Source"), body);
  }

  const line = ([ref, when, text]) => el("li", { class: "line", "data-ref": ref },
    el("div", { class: "small quiet" }, said(ref), when ? [" · ", said(when)] : null),
    text === null ? el("em", null, "not visible to this question") : block(text));

  /** The first of some rows, and a button that shows the rest. */
  function more(rows, few, total, what, after = () => {}) {
    const list = el("ol", { class: "plain" }, rows.slice(0, few));
    if (total <= few) return list;
    const show = el("button", {
      type: "button", class: "more",
      onclick: () => { list.append(...rows.slice(few)); show.remove(); after(); },
    }, rows.length === 1 ? `Show the one ${what[1]}` : `Show all ${number(rows.length)} ${what[0]}`);
    return [list, show];
  }

  function stored(page, entries, known, after) {
    const trace = page.trace, ends = new Map();
    // Of a long memory what was packed comes first, in the order of the view, then other carriers of evidence.
    const telling = new Set([...known.cost.keys(), ...known.carried.keys()]);
    for (const at of [...telling]) if (known.byId.has(entries[at][4])) telling.add(known.byId.get(entries[at][4]));
    entries.forEach(([, , status], at) => ends.set(status, [...(ends.get(status) || []), at]));
    const groups = Object.keys(SIGNS).filter((status) => ends.has(status)).map((status) => {
      const all = ends.get(status);
      const first = entries.length <= LONG ? all : [...telling].filter((at) => entries[at][2] === status);
      const rest = all.filter((at) => !first.includes(at));
      const state = known.barred.has(all[0]) ? barred(status, trace.past) : "eligible";
      const rows = [...first, ...rest].map((at) => entry(at, page, entries, known));
      return el("div", { class: "status" },
        el("h4", null, el("span", { class: `sign ${status.toLowerCase()}`, "aria-hidden": "true" }, SIGNS[status]),
          ` ${status} (${number(all.length)})`, el("span", { class: "quiet" }, ` ${state}`)),
        more(rows, first.length, all.length, ["entries", "entry"], after));
    });
    return el("section", { class: "column stored" }, el("h3", null, "Stored"),
      el("p", { class: "quiet" },
        `${number(entries.length)} entries, ${number(entries.length - known.barred.size)} eligible, ` +
        `${number(trace.candidates.length)} candidates, ${number(trace.selected.length)} selected, ` +
        `${number(trace.packed.length)} packed. The question ${trace.past ? "asks" : "does not ask"} about the past.`),
      trace.stood_in ? el("p", { class: "fault" }, "The selector named no usable id: candidate order stands in.") : null,
      groups);
  }

  function entry(at, page, entries, known) {
    const [id, text, status, slot, by, when] = entries[at];
    const units = (known.carried.get(at) || []).map((unit) => page.units[unit]);
    const steps = [];
    if (known.rank.has(at)) steps.push(["rank", known.rank.get(at)]);
    if (known.chosen.has(at)) steps.push(["selected", known.chosen.get(at)]);
    if (known.cost.has(at)) steps.push(["packed", `${number(known.cost.get(at))} tokens`]);
    else if (known.chosen.has(at)) steps.push(["no room", ""]);
    return el("li", {
      class: `entry ${status.toLowerCase()}${known.cost.has(at) ? " used" : ""}`, id: `entry-${at}`, "data-at": at,
      tabindex: "-1",
    },
    block(text),
    el("div", { class: "small quiet" }, el("strong", null, said(id)),
      by ? [" → replaced by ", known.byId.has(by) ? jump(known.byId.get(by), by) : said(by)] : null,
      slot ? [" · ", said(slot)] : null, when ? [" · ", said(when)] : null),
    units.length || steps.length ? el("div", { class: "steps" },
      units.length ? el("span", { class: "step evidence" },
        page.basis === "gold" ? "★ states the gold" : ["★ evidence ", said(units.join(" "))]) : null,
      steps.map(([name, value]) => el("span", { class: `step ${name.replace(" ", "-")}` }, `${name} ${value}`.trim())),
    ) : null);
  }

  /** A button that leads to an entry; the address stays that of the page. */
  function jump(at, text) {
    return el("button", {
      type: "button", class: "jump",
      onclick: () => {
        const find = () => document.getElementById(`entry-${at}`);
        if (!find()) document.querySelectorAll(".stored button.more").forEach((one) => one.click());
        const target = find();
        target?.scrollIntoView({ block: "center" });
        target?.focus({ preventScroll: true });
      },
    }, said(text));
  }

  function used(page, entries, known) {
    const { packed, tokens, budget, selected } = page.trace;
    const outside = selected.filter((at) => !known.cost.has(at));
    const told = budget === null ? `${number(tokens)} tokens, without a budget`
      : `${number(tokens)} of ${number(budget)} tokens`;
    const segments = packed.map(([, cost]) => {
      const part = el("span", null);
      part.style.width = `${(100 * cost) / (budget ?? Math.max(tokens, 1))}%`;
      return part;
    });
    return el("section", { class: "column view" }, el("h3", null, "Used"),
      el("div", { class: "budget", role: "img", "aria-label": `The view: ${told}` }, segments),
      el("p", { class: "quiet" }, `${told}; ${number(packed.length)} packed, in the order that the answer model sees`),
      packed.length
        ? el("ol", { class: "plain" }, packed.map(([at, cost]) => el("li", { class: "packed", "data-at": at },
          el("div", { class: "small quiet" }, jump(at, entries[at][0]), ` · ${number(cost)} tokens`,
            entries[at][2] === "ACTIVE" ? null : ` · ${entries[at][2]}, rescued`,
            known.carried.has(at) ? " · ★ evidence" : null),
          block(entries[at][1]))))
        : el("p", null, "Nothing: the view is empty."),
      outside.length ? el("p", { class: "fault" }, "Selected, without room: ",
        outside.map((at, n) => [n ? ", " : "", jump(at, entries[at][0])])) : null,
      page.trace.unusable ? el("p", { class: "quiet" }, `${number(page.trace.unusable)} ids of the selector's reply name ` +
        "no candidate, or name one again") : null,
      answer(page));
  }

  function answer(page) {
    return el("div", { class: `answer ${page.verdict}` },
      el("h3", null, "Answer"), rdf.verdict(page.verdict, page.scores[0]?.[1] ?? null),
      page.answer ? block(page.answer) : el("p", null, el("em", null, "none")),
      el("h4", null, page.abstention ? "Gold: to say that it is not there" : "Gold"), block(page.gold || "–"));
  }

  /** Arrows from what is replaced to what replaces it, and lines from source to entry and from entry to view. */
  function connect(figure, arrows, page, entries, known) {
    const frame = figure.getBoundingClientRect();
    arrows.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const box = (one) => {
      const { left, right, top, height } = one.getBoundingClientRect();
      return { left: left - frame.left, right: right - frame.left, y: top - frame.top + Math.min(height / 2, 22) };
    };
    const find = (selector) => [...figure.querySelectorAll(selector)];
    const shown = new Map(find(".entry").map((one) => [Number(one.dataset.at), box(one)]));
    const marker = svg("marker", {
      id: "head", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "7", markerHeight: "7", orient: "auto",
    }, svg("path", { d: "M0 0 8 4 0 8Z" }));
    const paths = [];
    const ends = [...shown].map(([at, from]) => [from, shown.get(known.byId.get(entries[at][4]))]).filter(([, to]) => to);
    const room = Math.min(52, shown.size ? [...shown.values()][0].left - 6 : 0);
    const lanes = Math.max(1, Math.min(ends.length, Math.floor(room / 5)));
    ends.sort(([a, b], [c, d]) => Math.abs(a.y - b.y) - Math.abs(c.y - d.y));
    ends.forEach(([from, to], order) => {
      // A lane each, the longest way outermost, so that arrows side by side are told apart.
      const x = from.left - 10 - ((room - 10) * (order % lanes)) / lanes;
      const turn = Math.sign(to.y - from.y) * Math.min(8, Math.abs(to.y - from.y) / 2);
      paths.push(["replaced", `M${from.left} ${from.y}H${x + 8}Q${x} ${from.y} ${x} ${from.y + turn}V${to.y - turn}` +
        `Q${x} ${to.y} ${x + 8} ${to.y}H${to.left}`]);
    });
    const beside = (a, b) => b.left > a.right;
    const across = (kind, a, b) => {
      const middle = (a.right + b.left) / 2;
      if (beside(a, b)) paths.push([kind, `M${a.right} ${a.y}C${middle} ${a.y} ${middle} ${b.y} ${b.left} ${b.y}`]);
    };
    for (const one of find(".packed")) {
      const from = shown.get(Number(one.dataset.at));
      if (from) across("packs", from, box(one));
    }
    for (const one of find(".line")) {
      for (const [at, units] of known.carried) {
        const carries = page.basis === "labels" ? units.some((unit) => page.units[unit] === one.dataset.ref)
          : entries[at][6] && one.lastChild.textContent.includes(entries[at][6]);
        if (carries && shown.has(at)) across("rests", box(one), shown.get(at));
      }
    }
    arrows.replaceChildren(svg("defs", null, marker), ...paths.map(([kind, d]) => svg("path", {
      class: kind, d, "marker-end": kind === "replaced" ? "url(#head)" : null,
    })));
  }

  return { draw };
})();
