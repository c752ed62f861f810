// Light or dark: as the system has it, until the user chooses.
import { byId } from "./dom.js";

const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = () => localStorage.getItem("panes-theme");

export const theme = () => chosen() ?? (system.matches ? "dark" : "light");

export function themeIn(onChange) {
  const apply = () => {
    document.documentElement.dataset.theme = theme();
    byId("theme").textContent = theme() === "dark" ? "☀" : "☾";
    onChange(theme());
  };
  byId("theme").addEventListener("click", () => {
    localStorage.setItem("panes-theme", theme() === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
