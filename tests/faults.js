// What cannot be read on this page, in the window as it is: a line for each.
() => {
  const [letters, contrast, small] = [6, 4.5, innerWidth < 1000 ? 10 : 11];
  const faults = [];
  const add = (what, text) => faults.push(`${what}: ${text.trim().slice(0, 80)}`);
  const shown = (query) => [...document.querySelectorAll(query)].filter((one) => one.checkVisibility());
  const overlap = (texts, near) => texts.forEach((one, place) => {
    for (const other of texts.slice(Math.max(place - near, 0), place)) {
      const [a, b] = [one.box, other.box];
      // The box of a line is higher than its letters.
      const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
      if (!apart) add("lies over another text", `${one.text.slice(0, 35)} / ${other.text}`);
    }
  });

  if (document.documentElement.scrollWidth > innerWidth) add("is wider than the window", document.title);
  for (const one of shown("main *")) {
    if (!one.closest(".scroll *, svg *") && one.getBoundingClientRect().right > innerWidth) add("is cut", one.textContent);
  }
  for (const one of shown(".scroll")) {
    if (one.scrollWidth > one.clientWidth) add("is scrolled sideways", one.getAttribute("aria-label"));
  }

  const kinds = ["h1", "h2", "h3", "p", "th", "td", "dt", "dd", "li", "figcaption", "summary"];
  const texts = shown(kinds.map((name) => `main ${name}`).join(", ")).flatMap((one) => {
    if (!one.textContent.trim() || one.querySelector("table, ul, dl, svg")) return [];
    const range = document.createRange();
    range.selectNodeContents(one);
    const box = range.getBoundingClientRect();
    return [{ one, box, text: one.textContent.trim() }];
  });
  const number = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => number(colour).slice(0, 3)
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
  const paper = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return number(colour)[3] === 0 ? paper(one.parentElement) : colour;
  };
  for (const { one, box, text } of texts) {
    const lines = Math.round(box.height / parseFloat(getComputedStyle(one).lineHeight));
    if (text.length < letters * (lines - 1)) add("has few letters a line", text);
    if (getComputedStyle(one, "::before").position === "absolute") add("has a label that lies over it", text);
    const [low, high] = [getComputedStyle(one).color, paper(one)].map(luminance).sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < contrast) add("has little contrast", text);
  }
  overlap(texts.sort((a, b) => a.box.top - b.box.top), 60);

  for (const chart of shown("figure svg")) {
    const scale = chart.viewBox.baseVal?.width ? chart.getBoundingClientRect().width / chart.viewBox.baseVal.width : 1;
    const labels = [...chart.querySelectorAll("text")].filter((one) => one.textContent.trim());
    const found = labels.map((one) => ({ one, text: one.textContent, box: one.getBoundingClientRect() }));
    for (const { one, text, box } of found) {
      if (parseFloat(getComputedStyle(one).fontSize) * scale < small) add("is small", text);
      if (box.left < 0 || box.right > innerWidth) add("is cut", text);
    }
    overlap(found, found.length);
  }
  return faults;
}
