"use strict";
// Sorting and filtering of every table[data-sortable].
//
// A header cell sorts: as text, or as numbers where it has data-sort="number". A cell's value is its data-v,
// else its text; an empty one is last either way. A form[data-filters="ID"] filters table ID: each word of its
// search field must be in a row, and each of its selects must be empty or equal the row's data-NAME. Its
// output says how many rows are left. A row of class "detail" belongs to the one before it.
{
  const rowsOf = (table) => [...table.tBodies[0].rows].filter((row) => !row.classList.contains("detail"));
  const detailOf = (row) => {
    const next = row.nextElementSibling;
    return next?.classList.contains("detail") ? next : null;
  };
  const collator = new Intl.Collator("en", { numeric: true });

  const sort = (table, column, descending) => {
    const header = table.tHead.rows[0].cells[column];
    const numbers = header.dataset.sort === "number";
    const value = (row) => {
      const cell = row.cells[column];
      const text = cell.dataset.v ?? cell.textContent.trim();
      return text === "" ? null : numbers ? Number(text) : text;
    };
    const sign = descending ? -1 : 1;
    const keyed = rowsOf(table).map((row) => [value(row), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (numbers ? a - b : collator.compare(a, b));
    });
    const body = document.createDocumentFragment();
    for (const [, row] of keyed) {
      const detail = detailOf(row);
      body.append(row);
      if (detail) body.append(detail);
    }
    table.tBodies[0].append(body);
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  };

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const now = header.getAttribute("aria-sort");
        // What is largest is mostly what one looks for.
        sort(table, column, now ? now === "ascending" : header.dataset.sort === "number");
      });
    });
  }

  for (const form of document.querySelectorAll("form[data-filters]")) {
    const table = document.getElementById(form.dataset.filters);
    const rows = rowsOf(table);
    const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
    const output = form.querySelector("output");
    const apply = () => {
      const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const choices = [...form.querySelectorAll("select")].filter((select) => select.value !== "");
      let count = 0;
      for (const row of rows) {
        const shown =
          words.every((word) => texts.get(row).includes(word)) &&
          choices.every((select) => row.dataset[select.name] === select.value);
        if (row.hidden === shown) {
          row.hidden = !shown;
          const detail = detailOf(row);
          if (detail) detail.hidden = !shown;
        }
        count += shown;
      }
      output.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
    };
    let waiting = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, 100);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    form.hidden = false;
    apply();
  }
}
