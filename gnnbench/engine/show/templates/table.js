"use strict";
// Sorting and filtering of every table[data-sortable].
//
// A click on a header cell sorts by its column: as text, or as numbers with data-sort="number". A cell's value is
// its data-v, or its text; empty cells are always last. A form[data-filters="ID"] filters table ID: a row must
// contain each word of the search field. The form's output shows the number of rows left. A table with data-most="N" shows N rows, until its button[data-more="ID"]
// is pressed or the page is printed, because browsers are slow with thousands of rows. A row of class "detail"
// belongs to the row before it.
{
  const collator = new Intl.Collator("en", { numeric: true });
  const number = (value) => value.toLocaleString("en");

  class Rows {
    constructor(table) {
      this.table = table;
      this.body = table.tBodies[0];
      this.all = [...this.body.rows];
      this.matches = () => true;
      this.most = Number(table.dataset.most ?? Infinity);
      this.more = document.querySelector(`button[data-more="${table.id}"]`);
      this.more?.addEventListener("click", () => this.showAll());
      addEventListener("beforeprint", () => this.showAll());
      [...table.tHead.rows[0].cells].forEach((header, column) => this.makeSortable(header, column));
    }

    static detailOf(row) {
      const next = row.nextElementSibling;
      return next?.classList.contains("detail") ? next : null;
    }

    makeSortable(header, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const now = header.getAttribute("aria-sort");
        // Numbers start with the largest.
        this.sort(header, column, now ? now === "ascending" : header.dataset.sort === "number");
      });
    }

    sort(header, column, descending) {
      const numbers = header.dataset.sort === "number";
      const value = (row) => {
        const cell = row.cells[column];
        const text = cell.dataset.v ?? cell.textContent.trim();
        return text === "" ? null : numbers ? Number(text) : text;
      };
      const sign = descending ? -1 : 1;
      const keyed = this.all.map((row) => [value(row), row]);
      keyed.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (numbers ? a - b : collator.compare(a, b));
      });
      const details = new Map(this.all.map((row) => [row, Rows.detailOf(row)]));
      this.all = keyed.map(([, row]) => row);
      this.show();
      this.body.append(...this.all.flatMap((row) => (details.get(row) ? [row, details.get(row)] : [row])));
      for (const cell of this.table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    }

    // Return the number of matching rows.
    show() {
      let count = 0;
      for (const row of this.all) {
        const matching = this.matches(row);
        const hidden = !matching || count >= this.most;
        count += matching;
        if (row.hidden !== hidden) {
          row.hidden = hidden;
          const detail = Rows.detailOf(row);
          if (detail) detail.hidden = hidden;
        }
      }
      if (this.more) {
        this.more.hidden = count <= this.most;
        this.more.textContent = `Show ${number(count - this.most)} more`;
      }
      return count;
    }

    showAll() {
      this.most = Infinity;
      this.show();
    }
  }

  const tables = new Map();
  for (const table of document.querySelectorAll("table[data-sortable]")) tables.set(table.id, new Rows(table));

  for (const form of document.querySelectorAll("form[data-filters]")) {
    const rows = tables.get(form.dataset.filters);
    const texts = new Map(rows.all.map((row) => [row, row.textContent.toLowerCase()]));
    const output = form.querySelector("output");
    const apply = () => {
      const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      rows.matches = (row) => words.every((word) => texts.get(row).includes(word));
      output.textContent = `${number(rows.show())} of ${number(rows.all.length)} benchmarks`;
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
