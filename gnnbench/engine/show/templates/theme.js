"use strict";
// Light or dark: the system's preference, unless the button was used now or on an earlier visit.
{
  const root = document.documentElement;
  const kept = {
    get() { try { return localStorage.getItem("gnnbench-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("gnnbench-theme", theme); } catch { /* a file may have no storage */ } },
  };
  const preference = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme ?? (preference.matches ? "dark" : "light");
  const before = kept.get();
  if (before === "light" || before === "dark") root.dataset.theme = before;

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = theme() === "dark" ? "Light" : "Dark"; };
    button.setAttribute("aria-description", "Changes the colours of the page");
    button.addEventListener("click", () => {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
      kept.set(root.dataset.theme);
      label();
    });
    preference.addEventListener("change", label);
    button.hidden = false;
    label();
  });
}
