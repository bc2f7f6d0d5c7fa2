"use strict";
// Two runs over the same questions side by side, the questions that flipped first.
rdf.pages.compare = (route) => {
  const { el, said, link, number, store } = rdf, { runs, groups, pairs } = rdf.index;
  const body = el("div", { class: "results" });
  const shared = groups.filter((group) => group.runs.length > 1);
  if (!shared.length) {
    return [el("h1", { tabindex: "-1" }, "Compare"),
      el("p", null, "There are no two runs over the same questions in this report: write one of several, " +
        "rdf report RUN RUN -o out, or of a sweep.")];
  }
  const first = shared[0].runs;
  const given = (name, or) => (runs[route.parameters.get(name)] ? Number(route.parameters.get(name)) : or);
  const wanted = { a: given("a", first[0]), b: given("b", first[1]), show: route.parameters.get("show") || "flipped", page: 0 };
  const named = shared.flatMap((group) => group.runs).map((at) => [String(at), runs[at].label]);

  function change(changes) {
    Object.assign(wanted, { page: 0 }, changes);
    const address = { a: wanted.a, b: wanted.b, show: wanted.show };
    history.replaceState(null, "", link("compare", address));
    rdf.route.parameters = new URLSearchParams(address);
    draw();
  }

  const right = (one) => one.value === 1;
  /** What became of a question, the most telling first. */
  function kind(a, b) {
    if (a.value === null || b.value === null) return 4;
    if (a.value === b.value) return a.answer === b.answer ? 5 : 3;
    if (right(a) && b.value === 0) return 0;
    return right(b) && a.value === 0 ? 1 : 2;
  }
  const KINDS = ["only A is right", "only B is right", "scored differently", "same score, other answer", "no score in one", "the same"];
  const SHOW = { flipped: [0, 1, 2], a: [0], b: [1], answers: [3], unscored: [4], all: [0, 1, 2, 3, 4, 5] };

  function told(pair, swapped) {
    if (!pair) return el("p", { class: "problem" }, "These two runs are not over the same questions: choose two of one suite.");
    if (pair.refused) return el("p", { class: "problem" }, "Their scores cannot be compared: ", said(pair.refused), ".");
    const sign = swapped ? -1 : 1, [low, high] = swapped ? [-pair.high, -pair.low] : [pair.low, pair.high];
    const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
    const better = pair.verdict === "tie" ? "a tie: the interval of the difference covers 0"
      : `${(pair.verdict === "better") === !swapped ? "A" : "B"} is better`;
    return [
      el("p", { class: "lead" }, el("strong", null, `A − B: ${points(sign * pair.difference)} points`),
        `, 95 % interval ${points(low)} to ${points(high)}, p = ${pair.p.toPrecision(3)} (${pair.test}): ${better}.`),
      el("p", null, `A wins ${number(swapped ? pair.losses : pair.wins)}, loses ${number(swapped ? pair.wins : pair.losses)}, ` +
        `ties ${number(pair.ties)} of ${number(pair.n)} questions.`),
      rdf.notes(pair.notes)];
  }

  function differing() {
    const [a, b] = [wanted.a, wanted.b].map((at) => new Map(runs[at].settings));
    const names = [...new Set([...a.keys(), ...b.keys()])].sort().filter((name) => a.get(name) !== b.get(name));
    if (!names.length) return el("p", { class: "quiet" }, "The settings of both are the same.");
    return el("details", null, el("summary", null, `${names.length === 1 ? "1 setting differs" : `${number(names.length)} settings differ`}: ${names.slice(0, 4).join(", ")}`),
      rdf.sheet({
        title: "Settings that differ", columns: ["setting", "A", "B"], left: [0, 1, 2], notes: [],
        rows: names.map((name) => [name, a.get(name) ?? "–", b.get(name) ?? "–"]),
      }, "h3"));
  }

  const side = (one) => [
    el("div", null, rdf.verdict(one.verdict, one.value), " ",
      el("a", { href: link(`item/${one.run}/${one.at}`) }, "open", el("span", { class: "unseen" }, ` in ${runs[one.run].label}`))),
    one.answer ? el("div", null, said(one.answer)) : el("em", null, "no answer"),
    el("div", { class: "small quiet" }, rdf.ending(one.outcome, one.lost)),
  ];

  function draw() {
    const a = new Map(store.of(wanted.a).map((one) => [one.id, one]));
    const both = store.of(wanted.b).filter((one) => a.has(one.id)).map((two) => {
      const one = a.get(two.id);
      return { one, two, kind: kind(one, two) };
    });
    const pair = pairs.find(({ a: x, b: y }) => (x === wanted.a && y === wanted.b) || (x === wanted.b && y === wanted.a));
    const counts = KINDS.map((_, at) => both.filter((each) => each.kind === at).length);
    const rows = both.filter((each) => SHOW[wanted.show]?.includes(each.kind)).sort((x, y) => x.kind - y.kind || x.one.at - y.one.at);
    const sum = (kinds) => kinds.reduce((total, at) => total + counts[at], 0);
    const choices = [["flipped", "flipped"], ["a", KINDS[0]], ["b", KINDS[1]], ["answers", KINDS[3]], ["unscored", KINDS[4]], ["all", "all"]];
    rdf.offer(shown, wanted.show, choices.map(([name, text]) => [name, `${text} (${number(sum(SHOW[name]))})`]));
    store.walk = rows.map(({ one }) => one);
    const columns = [
      {
        name: "Question", kind: "wide", draw: ({ one }) => [
          el("a", { class: "open", href: link(`item/${one.run}/${one.at}`) }, said(one.question || "(no text)")),
          el("div", { class: "quiet small" }, "gold: ", said(one.gold))],
      },
      { name: `A: ${runs[wanted.a].label}`, kind: "side", draw: ({ one }) => side(one) },
      { name: `B: ${runs[wanted.b].label}`, kind: "side", draw: ({ two }) => side(two) },
      { name: "What became of it", draw: (each) => KINDS[each.kind] },
    ];
    const same = wanted.a === wanted.b;
    body.replaceChildren(...[
      same ? el("p", { class: "problem" }, "A and B are the same run: choose another for one of them.") : told(pair, pair?.a !== wanted.a),
      same ? null : differing(),
      rows.length ? rdf.list.table("Questions of both runs", columns, rdf.list.slice(rows, wanted.page)) : el("p", null, "No question is like this."),
      rdf.pager(wanted.page, rdf.list.pages(rows), (to) => change({ page: to })),
    ].flat(Infinity).filter(Boolean));
  }

  const choose = (name, label) => rdf.choice(label, String(wanted[name]), named, (value) => change({ [name]: Number(value) }));
  const showing = rdf.choice("Show", wanted.show, [], (value) => change({ show: value }));
  const shown = showing.lastChild;
  body.append(el("p", { role: "status" }, "Reading …"));
  const fill = () => store.all().then(draw).catch((error) => body.replaceChildren(rdf.problem(error)));
  fill();
  return Object.assign([
    el("h1", { tabindex: "-1" }, "Compare"),
    el("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
      choose("a", "Run A"), choose("b", "Run B"), showing,
      el("div", { class: "field" }, el("span", { "aria-hidden": "true" }, " "),
        el("button", { type: "button", onclick: () => swap() }, "Swap A and B"))),
    body,
  ], { refresh: fill });

  function swap() {
    change({ a: wanted.b, b: wanted.a });
    const [a, b] = document.querySelectorAll(".filters select");
    [a.value, b.value] = [wanted.a, wanted.b];
  }
};
