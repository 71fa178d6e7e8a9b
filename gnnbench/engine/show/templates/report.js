"use strict";
// The details of a benchmark's row, made from the page's data when the row is opened.
(async () => {
  const table = document.getElementById("all");
  const source = document.getElementById("numbers");
  if (table && source) {
    const packed = Uint8Array.from(atob(source.textContent), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const rows = await new Response(unpacked).json();
    const heads = [...table.tHead.rows[0].cells];

    // Everything from the file is inserted as text.
    const make = (name, attributes = {}, ...children) => {
      const element = document.createElement(name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.append(...children);
      return element;
    };
    const cells = (kind, values) => values.map((value) => make(kind, {}, String(value)));
    const grid = (caption, heads, lines) =>
      make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
        make("table", {},
          make("caption", {}, caption),
          make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
          make("tbody", {}, ...lines.map(([first, ...rest]) =>
            make("tr", {}, make("th", { scope: "row" }, String(first)), ...cells("td", rest))))));

    // Drawn by gnnbench, of numbers and its own words.
    const parsed = (text) =>
      document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);

    const distribution = (row, name) =>
      make("figure", { class: "chart" },
        make("div", {
          role: "img",
          "aria-label": `Times by layout for ${name}`,
        }, parsed(row.svg)),
        make("figcaption", {}, "Each dot is the median time of a layout, the first at the top; if there are many, " +
          "only some are drawn. Dashed: the estimated time; grey: its interval."));

    const inside = (row, name) => {
      const box = make("div", { class: "inside" });
      if (row.svg) box.append(distribution(row, name));
      const known = make("div");
      if (row.notes.length) known.append(make("ul", {}, ...row.notes.map((note) => make("li", {}, note))));
      known.append(make("dl", { class: "facts" }, ...row.facts.map(([key, value]) =>
        make("div", {}, make("dt", {}, key), make("dd", {}, value)))));
      box.append(known);
      if (row.operators.length) box.append(grid("Operators of one call", ["operator", "calls"], row.operators));
      return box;
    };

    const toggle = (line, open) => {
      const button = line.cells[0].querySelector("button");
      const next = line.nextElementSibling;
      const detail = next?.classList.contains("detail") ? next : null;
      button.setAttribute("aria-expanded", String(open));
      if (detail) { detail.remove(); }
      if (!open) return;
      const shown = heads.filter((head) => getComputedStyle(head).display !== "none");  // fewer on a phone
      const cell = make("td", { colspan: String(shown.length) });
      cell.append(inside(rows[line.dataset.place], line.cells[0].textContent));
      line.after(make("tr", { class: "detail" }, cell));
    };

    for (const line of table.tBodies[0].rows) {
      const head = line.cells[0];
      const button = make("button", { type: "button", "aria-expanded": "false" });
      button.append(...head.childNodes);
      head.append(button);
    }
    table.tBodies[0].addEventListener("click", (event) => {
      const button = event.target.closest("tbody th button");
      if (button) toggle(button.closest("tr"), button.getAttribute("aria-expanded") !== "true");
    });

    // Show and open the row that the URL's fragment names.
    const follow = () => {
      const line = document.getElementById(location.hash.slice(1));
      if (!line || line.parentElement !== table.tBodies[0]) return;
      if (line.hidden) {
        document.querySelector("form[data-filters=all]").reset();
        document.querySelector("button[data-more=all]").click();
      }
      line.hidden = false;
      const button = line.cells[0].querySelector("button");
      if (button.getAttribute("aria-expanded") !== "true") toggle(line, true);
      button.focus({ preventScroll: true });
      line.scrollIntoView({ block: "start" });
    };
    addEventListener("hashchange", follow);
    // After the browser has scrolled there itself.
    if (document.readyState === "complete") follow();
    else addEventListener("load", () => setTimeout(follow));
  }
})();
