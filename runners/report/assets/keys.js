"use strict";
// The keyboard, and the list of its keys.
rdf.keys = (() => {
  const { el } = rdf;
  const KEYS = [
    ["/", "search the questions"], ["j or ↓", "next row; on a question's page the next question"],
    ["k or ↑", "previous row, or previous question"], ["Enter", "open the question of the row"],
    ["Esc", "empty the search, close this, or go back to the list"],
    ["o", "overview"], ["l", "loss funnel"], ["i", "items"], ["c", "compare"], ["?", "these keys"],
  ];
  const dialog = document.getElementById("keys");
  dialog.append(
    el("h2", { id: "keys-title" }, "Keys"),
    el("dl", null, KEYS.map(([key, what]) => el("div", null, el("dt", null, el("kbd", null, key)), el("dd", null, what)))),
    el("form", { method: "dialog" }, el("button", null, "Close")));
  const show = () => { if (!dialog.open) dialog.showModal(); };
  document.getElementById("help").addEventListener("click", show);
  // A form that is sent is forbidden to this page, also one that only closes its dialog.
  dialog.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); dialog.close(); });

  function search() {
    const field = document.getElementById("search");
    if (field) return field.select(), field.focus();
    location.hash = "#/items";
    rdf.afterwards = () => document.getElementById("search")?.focus();
    return undefined;
  }

  function escape(event) {
    const field = document.getElementById("search");
    if (field && document.activeElement === field) {
      event.preventDefault();
      if (!field.value) return field.blur();
      field.value = "";
      return field.dispatchEvent(new Event("input"));
    }
    if (rdf.route.path[0] === "item") location.hash = rdf.back || "#/items";
    return undefined;
  }

  function move(by, event) {
    const inList = document.activeElement?.matches?.("a.open");
    if (event.key.startsWith("Arrow") && !inList) return;  // the arrows scroll a page
    if (rdf.route.path[0] === "item") {
      if (!event.key.startsWith("Arrow")) document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
      return;
    }
    event.preventDefault();
    rdf.list.step(by);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.key === "Escape") { escape(event); return; }
    if (event.target.matches("input, select, textarea")) return;
    const go = { o: "#/", l: "#/funnel", i: "#/items", c: "#/compare" }[event.key];
    if (event.key === "/") { event.preventDefault(); search(); }
    else if (event.key === "?") show();
    else if (event.key === "j" || event.key === "ArrowDown") move(1, event);
    else if (event.key === "k" || event.key === "ArrowUp") move(-1, event);
    else if (go) location.hash = go;
  });
})();
