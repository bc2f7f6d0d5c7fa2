"use strict";
// A long list a page at a time; on a phone each row is a card with the names of its cells.
rdf.list = (() => {
  const { el } = rdf, SIZE = 50;

  /** A table whose rows lead somewhere: `columns` are pairs of a name and what draws the cell of a row. */
  function table(label, columns, rows, sorting = null) {
    const head = columns.map(({ name, sort, kind = "" }) => {
      const active = sorting && sort && sorting.by === sort;
      const inside = sorting && sort
        ? el("button", { type: "button", onclick: () => sorting.change(sort) }, name,
          el("span", { "aria-hidden": "true" }, active ? (sorting.down ? " ↓" : " ↑") : " ↕"))
        : name;
      return el("th", {
        scope: "col", class: kind, "aria-sort": active ? (sorting.down ? "descending" : "ascending") : null,
      }, inside);
    });
    const body = rows.map((row) => el("tr", null,
      columns.map(({ name, kind = "", draw }) => el("td", { class: kind, "data-name": name }, draw(row)))));
    return el("table", { class: "list", "aria-label": label }, el("thead", null, el("tr", null, head)),
      el("tbody", null, body));
  }

  const slice = (rows, page) => rows.slice(page * SIZE, (page + 1) * SIZE);
  const pages = (rows) => Math.max(1, Math.ceil(rows.length / SIZE));

  /** Move the focus among the links of the rows. */
  function step(by) {
    const links = [...document.querySelectorAll("table.list a.open")];
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.closest("tr").scrollIntoView({ block: "nearest" });
  }

  return { table, slice, pages, step };
})();
