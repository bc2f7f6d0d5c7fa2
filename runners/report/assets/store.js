"use strict";
// The rows of the list, of all runs, and which of them are looked for.
rdf.store = (() => {
  const ORDER = Object.keys(rdf.VERDICTS);
  let rows = [], known = new Map(), texts = new Map(), reading = null, searchable = null;

  function row(run, values) {
    const [at, id, type, verdict, value, outcome, lost, faults, question, gold, answer, tokens, cut] = values;
    const { types, faults: kinds } = rdf.index.runs[run];
    const group = rdf.index.groups.findIndex(({ runs }) => runs.includes(run));
    return {
      run, at, group, id, type: types[type], verdict, value, outcome, lost, faults: faults.map((fault) => kinds[fault]),
      question, gold, answer, tokens, cut, text: null,
    };
  }

  /** All rows, read once; `progress` is called as files come in. */
  function all(progress = () => {}) {
    reading ||= (async () => {
      const files = rdf.index.runs.flatMap((run, number) => run.rows.map(([name, digest]) => ({ number, name, digest })));
      rows = [];
      for (const [at, { number, name, digest }] of files.entries()) {
        for (const values of await rdf.load(name, digest)) rows.push(row(number, values));
        progress(at + 1, files.length);
      }
      known = new Map(rows.map((one) => [`${one.run}/${one.at}`, one]));
      return rows;
    })();
    return reading;
  }

  /** Texts that the list clips, which search reads too. */
  function whole() {
    searchable ||= (async () => {
      for (const [number, run] of rdf.index.runs.entries()) {
        for (const [name, digest] of run.texts) {
          for (const [at, ...parts] of await rdf.load(name, digest)) texts.set(`${number}/${at}`, parts.join("\n"));
        }
      }
    })();
    return searchable;
  }

  const textOf = (one) =>
    one.text ??= [one.id, texts.get(`${one.run}/${one.at}`) ?? `${one.question}\n${one.gold}\n${one.answer}`]
      .join("\n").toLowerCase();

  const FILTERS = {
    run: (one) => [String(one.run)],
    suite: (one) => [rdf.index.runs[one.run].suite],
    method: (one) => [`${rdf.index.runs[one.run].method} ${rdf.index.runs[one.run].switches}`],
    type: (one) => [one.type || "(none)"],
    verdict: (one) => [one.verdict],
    end: (one) => [rdf.ending(one.outcome, one.lost)],
    fault: (one) => (one.faults.length ? one.faults : ["none"]),
  };
  const word = (one, name) => one[name].toLowerCase();
  const SORTS = {
    position: (one) => one.group * 1e9 + one.at,
    question: (one) => word(one, "question"),
    type: (one) => one.type,
    verdict: (one) => ORDER.indexOf(one.verdict) - (one.value ?? 0) / 2,
    end: (one) => rdf.STAGES.indexOf(one.lost),
    tokens: (one) => one.tokens ?? -1,
  };

  /** Rows that hold every word of `q` and pass the filters, and for each filter how many each choice would leave. */
  function find(wanted) {
    const words = (wanted.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const names = Object.keys(FILTERS), counts = Object.fromEntries(names.map((name) => [name, new Map()]));
    const found = [];
    for (const one of rows) {
      if (words.length && !words.every((part) => textOf(one).includes(part))) continue;
      const missed = names.filter((name) => wanted[name] && !FILTERS[name](one).includes(wanted[name]));
      if (!missed.length) found.push(one);
      for (const name of missed.length ? (missed.length === 1 ? missed : []) : names) {
        for (const value of FILTERS[name](one)) counts[name].set(value, (counts[name].get(value) || 0) + 1);
      }
    }
    const by = SORTS[wanted.sort] || SORTS.position, sign = wanted.down ? -1 : 1;
    const keyed = found.map((one, at) => [by(one), at, one]);
    keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x - y));
    return { found: keyed.map(([, , one]) => one), counts };
  }

  /** The same question in every run. */
  const alike = (id, suite) => rows.filter((one) => one.id === id && rdf.index.runs[one.run].suite === suite);
  const of = (run) => rows.filter((one) => one.run === run);
  const get = (run, at) => known.get(`${run}/${at}`);

  /** A newer index has come: what changed is read again. */
  function renew() {
    reading = searchable = null;
    texts = new Map();
    rdf.forget("pages-");
    rdf.forget("memory-");
  }

  return { all, whole, find, alike, of, get, renew, FILTERS: Object.keys(FILTERS), SORTS: Object.keys(SORTS), walk: [] };
})();
