"use strict";
// Which page is shown, by the address; and, where the report is served, what is new.
(() => {
  const { el } = rdf, main = document.getElementById("main"), LOOK = 2000;
  const NAMES = { overview: "Overview", funnel: "Loss funnel", items: "Items", compare: "Compare" };
  let current = null;

  function parse() {
    const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const parts = path.split("/").filter(Boolean);
    return { path: parts.length ? parts : ["overview"], parameters: new URLSearchParams(query) };
  }

  function menu(name) {
    const pages = document.getElementById("pages");
    pages.replaceChildren(...Object.entries(NAMES).map(([page, text]) => el("a", {
      href: page === "overview" ? "#/" : `#/${page}`,
      "aria-current": page === name || (page === "items" && name === "item") ? "page" : null,
    }, text)));
  }

  function draw() {
    const route = parse(), name = route.path[0];
    const left = rdf.route?.path[0];
    if (left === "items" || left === "compare") rdf.back = rdf.link(left, Object.fromEntries(rdf.route.parameters));
    rdf.route = route;
    menu(name);
    const page = rdf.pages[name] || (() => [el("h1", { tabindex: "-1" }, "There is no such page")]);
    current = page(route);
    main.replaceChildren(...current.flat(Infinity).filter(Boolean));
    document.title = `${NAMES[name] || "Item"} – ${rdf.index.title}`;
  }

  window.addEventListener("hashchange", () => {
    draw();
    window.scrollTo(0, 0);
    if (rdf.afterwards) rdf.afterwards();
    else main.querySelector("h1")?.focus();
    rdf.afterwards = null;
  });
  document.querySelector("a.skip").addEventListener("click", (event) => {
    event.preventDefault();  // the address says which page is shown
    main.focus();
  });

  async function follow() {
    const shown = document.getElementById("live");
    let last = null;
    for (;;) {
      try {
        rdf.forget("live?");
        const generation = await rdf.load("live");
        if (last !== null && generation !== last) {
          rdf.index = await rdf.load("index", String(generation));
          rdf.store.renew();
          if (current.refresh) await current.refresh();
          else draw();
        }
        last = generation;
        const asked = rdf.index.runs.reduce((sum, run) => sum + run.asked, 0);
        const selected = rdf.index.runs.reduce((sum, run) => sum + run.selected, 0);
        shown.textContent = `live: ${rdf.number(asked)} of ${rdf.number(selected)}`;
      } catch {
        shown.textContent = "not connected: this is the last state";
      }
      await new Promise((resolve) => { setTimeout(resolve, LOOK); });
    }
  }

  rdf.load("index").then((index) => {
    rdf.index = index;
    document.getElementById("title").textContent = index.title;
    draw();
    if (index.live && location.protocol.startsWith("http")) follow();
  }).catch((error) => main.replaceChildren(rdf.problem(error)));
})();
