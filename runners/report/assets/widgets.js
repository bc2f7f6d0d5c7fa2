"use strict";
// Parts that several pages are made of.
Object.assign(rdf, (() => {
  const { el, said, number } = rdf;
  const VERDICTS = {
    correct: "✓", wrong: "✕", partial: "◐", invalid: "?", excluded: "–", failed: "!",
  };
  const STAGES = ["history", "stored", "eligible", "candidates", "selected", "packed", "answer", "credit"];

  /** A verdict by sign, word and colour; `value` where it says more than the word. */
  function verdict(name, value = null) {
    const more = value !== null && value !== 0 && value !== 1 ? ` ${Number(value.toFixed(3))}` : "";
    return el("span", { class: `verdict ${name}` },
      el("span", { class: "sign", "aria-hidden": "true" }, VERDICTS[name] || "?"), `${name}${more}`);
  }

  /** How a question ended, in words. */
  function ending(outcome, lost) {
    if (outcome === "lost") return `lost at ${lost}`;
    return outcome === "recovered" ? `recovered, lost at ${lost}` : outcome;
  }

  /** A table of text in a frame that scrolls by itself, so that the page never has to. */
  function sheet(data, level = "h2") {
    if (!data) return null;
    const left = new Set(data.left);
    const cell = (text, at, tag, more) =>
      el(tag, { ...more, class: `${left.has(at) ? "left" : "number"}${text.length > 36 ? " long" : ""}` }, said(text));
    const rows = data.rows.map((row) =>
      el("tr", null, row.map((text, at) => cell(text, at, at === 0 ? "th" : "td", at === 0 ? { scope: "row" } : {}))));
    const head = data.columns.map((text, at) => cell(text, at, "th", { scope: "col" }));
    return el("section", { class: "sheet" },
      el(level, null, said(data.title)),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": data.title },
        el("table", null, el("thead", null, el("tr", null, head)), el("tbody", null, rows))),
      notes(data.notes));
  }

  function notes(lines) {
    return lines.length ? el("ul", { class: "notes" }, lines.map((line) => el("li", null, said(line)))) : null;
  }

  /** A labelled choice; `choices` are pairs of value and text. */
  function choice(label, value, choices, change) {
    const select = el("select", { onchange: () => change(select.value) });
    offer(select, value, choices);
    return el("label", { class: "field" }, el("span", null, label), select);
  }

  function offer(select, value, choices) {
    select.replaceChildren(...choices.map(([name, text]) => el("option", { value: name }, text)));
    select.value = value;
  }

  /** Links to the pages of a long list. */
  function pager(page, pages, go) {
    if (pages < 2) return null;
    const button = (text, to, off) =>
      el("button", { type: "button", disabled: off, onclick: () => go(to) }, text);
    return el("nav", { class: "pager", "aria-label": "Pages of the list" },
      button("First", 0, page === 0),
      button("Previous", page - 1, page === 0),
      el("span", null, `page ${number(page + 1)} of ${number(pages)}`),
      button("Next", page + 1, page + 1 >= pages),
      button("Last", pages - 1, page + 1 >= pages));
  }

  function problem(error) {
    return el("p", { class: "problem", role: "alert" }, error.message);
  }

  return { verdict, ending, sheet, notes, choice, offer, pager, problem, STAGES, VERDICTS };
})());
