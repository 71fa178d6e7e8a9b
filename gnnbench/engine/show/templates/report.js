"use strict";
// The details of a benchmark's row, made and drawn from the page's data when the row is opened.
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

    const digits = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });

    // Round numbers from one to the other, about five.
    const ticks = (low, high) => {
      const rough = (high - low) / 5;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((one) => one * power >= rough);
      const first = Math.ceil(low / step);
      return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step);
    };

    const draw = (name, attributes, ...children) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.append(...children);
      return element;
    };

    const dots = ({ unit, step, processes, interval }, width) => {
      const values = [...processes.flatMap((one) => one[4]), ...interval.flat()].map((value) => value * step);
      const least = values.reduce((a, b) => Math.min(a, b));
      const most = values.reduce((a, b) => Math.max(a, b));
      const margin = (most - least || least) / 30;
      const [low, high] = [least - margin, most + margin];
      const left = 16 + 8 * Math.max(...processes.map(([process]) => process.length));
      const bottom = 44 * processes.length;
      const x = (value) => (left + (value - low) / (high - low) * (width - left - 16)).toFixed(1);
      const ink = { fill: "var(--ink)", "font-size": 14 };
      const svg = draw("svg", { width, height: bottom + 44, viewBox: `0 0 ${width} ${bottom + 44}` });
      for (const [from, to, time] of interval.map((one) => one.map((value) => x(value * step)))) {
        svg.append(
          draw("rect", { x: from, y: 0, width: to - from, height: bottom, fill: "var(--band)" }),
          draw("path", { d: `M${time},0V${bottom}`, stroke: "var(--muted)", "stroke-dasharray": "4 3" }));
      }
      for (const value of ticks(low, high)) {
        svg.append(
          draw("path", { d: `M${x(value)},0V${bottom}`, stroke: "var(--line)" }),
          draw("text", { x: x(value), y: bottom + 17, "text-anchor": "middle", ...ink }, digits(value)));
      }
      svg.append(draw("text", { x: (left + width) / 2, y: bottom + 38, "text-anchor": "middle", ...ink }, `time of a call, ${unit}`));
      processes.forEach(([process, head, , , times], row) => {
        svg.append(draw("text", { x: left - 8, y: 44 * row + 27, "text-anchor": "end", ...ink }, process));
        times.forEach((time, order) => svg.append(draw("circle", {
          cx: x(time * step), cy: (44 * row + 6 + 32 * order / Math.max(times.length - 1, 1)).toFixed(1), r: 3,
          stroke: "var(--mark)", fill: "var(--mark)", "fill-opacity": head ? 0.8 : 0 })));
      });
      return svg;
    };

    const distribution = (row, name) => {
      const { processes, interval } = row;
      const shown = (head) => processes.filter((one) => one[1] === head).length;
      const older = shown(0) ? `older side (hollow): ${shown(0)} processes; ` : "";
      const picture = make("div", {
        role: "img",
        "aria-label": `Times by layout for ${name}; ${older}newer side: ${shown(1)} processes; their quantiles are in a table`,
      });
      const figure = make("figure", { class: "chart" }, picture,
        make("figcaption", {}, "Each dot is the median time of a layout. Each row is a process; its first layout is at the top. Times are rounded to 0.1%." +
          (interval.length ? " Dashed: the time, with its interval (grey)." : "")));
      return [figure, () => picture.append(dots(row, picture.clientWidth))];
    };

    const inside = (row, name) => {
      const box = make("div", { class: "inside" });
      let drawn = () => {};
      if (row.processes) {
        const [figure, drawing] = distribution(row, name);
        drawn = drawing;
        box.append(figure);
      }
      const known = make("div");
      if (row.notes.length) known.append(make("ul", {}, ...row.notes.map((note) => make("li", {}, note))));
      known.append(make("dl", { class: "facts" }, ...row.facts.map(([key, value]) =>
        make("div", {}, make("dt", {}, key), make("dd", {}, value)))));
      box.append(known);
      if (row.processes) {
        known.append(grid(`Layouts by process, ${row.unit}`,
          ["process", "layouts", "least", "10%", "median", "90%", "most"],
          row.processes.map(([process, , count, quantiles]) =>
            [process, count, ...quantiles.map((value) => digits(value * row.step))])));
      }
      if (row.operators) {
        box.append(grid(row.more ? `Operators of one call; ${row.more} more are not kept here` : "Operators of one call",
          ["operator", "calls"], row.operators));
      }
      return [box, drawn];
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
      const [box, drawn] = inside(rows[line.dataset.place], line.cells[0].textContent);
      cell.append(box);
      line.after(make("tr", { class: "detail" }, cell));
      drawn();
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
