"use strict";
// What every page uses: data files, and elements whose text is text. Nothing here or elsewhere parses HTML.
const rdf = (() => {
  const waiting = new Map(), held = new Map();
  const checked = (url) => {
    if (!/^data\/[a-z]+[-0-9]*\.js(\?v=[0-9a-f]+)?$/.test(url)) throw new TypeError(`not a data file: ${url}`);
    return url;
  };
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy("rdf", { createScriptURL: checked })
    : { createScriptURL: checked };

  /** Called by a data file with what it holds. */
  function take(name, value) {
    waiting.get(name)?.(value);
    waiting.delete(name);
  }

  /** The value of a data file, read once for every version of it. */
  function load(name, version = "") {
    const key = `${name}?${version}`;
    if (!held.has(key)) {
      forget(`${name}?`);
      held.set(key, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        waiting.set(name, resolve);
        script.src = policy.createScriptURL(`data/${name}.js${version && `?v=${version}`}`);
        script.onload = () => script.remove();
        script.onerror = () => {
          script.remove();
          held.delete(key);
          reject(new Error(`data/${name}.js cannot be read: write the report again`));
        };
        document.head.append(script);
      }));
    }
    return held.get(key);
  }

  function forget(prefix) {
    for (const key of held.keys()) if (key.startsWith(prefix)) held.delete(key);
  }

  function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }

  const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
  const svg = (tag, properties, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);

  /** Text of data inside a line: its direction does not reach what stands beside it. */
  const said = (text, kind) => el("bdi", { class: kind }, text);
  /** Text of data as a block, lines as they are. */
  const block = (text, kind = "") => el("div", { class: `said ${kind}`, dir: "auto" }, text);

  const number = (value) => value.toLocaleString("en-US");
  const link = (path, parameters) => {
    const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value !== ""));
    return `#/${path}${query.size ? `?${query}` : ""}`;
  };

  return { take, load, forget, el, svg, said, block, number, link, pages: {}, index: null };
})();
