// The pages of a report: themes, sorted tables, and the rows of the run.
"use strict";

const greedyexp = (() => {
  const root = document.documentElement;
  let theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    theme = localStorage.getItem("greedyexp-theme") || theme;
  } catch {
    // A browser may forbid storage for files. The theme of the system is used.
  }
  root.dataset.theme = theme;

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "onclick") made.addEventListener("click", value);
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  // Themes

  function setTheme(chosen) {
    root.dataset.theme = chosen;
    const button = document.getElementById("theme");
    button.setAttribute("aria-pressed", String(chosen === "dark"));
    try {
      localStorage.setItem("greedyexp-theme", chosen);
    } catch {
      // See above.
    }
  }

  const isDark = () => root.dataset.theme === "dark";

  // Tables

  function sortable(table) {
    table.querySelectorAll("thead th").forEach((heading, column) => {
      if ("fixed" in heading.dataset) return;
      const button = element("button", { type: "button" }, ...heading.childNodes);
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, heading, column));
    });
  }

  function sort(table, heading, column) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    const key = (row) => {
      const cell = row.cells[column];
      const text = cell.dataset.sort ?? cell.textContent.trim();
      const number = text === "" ? NaN : Number(text);
      return { text, number };
    };
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      // Empty cells are last in both directions.
      if ((a.text === "") !== (b.text === "")) return a.text === "" ? 1 : -1;
      const numbers = !Number.isNaN(a.number) && !Number.isNaN(b.number);
      const order = numbers ? a.number - b.number : a.text.localeCompare(b.text);
      return down ? -order : order;
    });
    table.querySelectorAll("th[aria-sort]").forEach((one) => one.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  }

  function filter(input) {
    const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }

  function copying(button) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    });
  }

  function command(text) {
    const button = element("button", { type: "button", class: "copy" }, "Copy");
    const made = element("div", { class: "command" }, element("code", {}, text), button);
    copying(button);
    return made;
  }

  function saved(name, type, text) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // Rows of the run: a compressed CSV in a script, which pages can load without a server.

  let loading = null;
  let received = null;

  function table(packed) {
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    received(new Response(stream).text());
  }

  function parsed(text) {
    const lines = [];
    let line = [];
    let cell = "";
    let quoted = false;
    for (let place = 0; place < text.length; place++) {
      const character = text[place];
      if (quoted) {
        if (character !== '"') cell += character;
        else if (text[place + 1] === '"') cell += text[++place];
        else quoted = false;
      } else if (character === '"') quoted = true;
      else if (character === ",") {
        line.push(cell);
        cell = "";
      } else if (character === "\n") {
        line.push(cell);
        lines.push(line);
        line = [];
        cell = "";
      } else if (character !== "\r") cell += character;
    }
    return lines;
  }

  function loaded() {
    loading ??= new Promise((resolve) => {
      received = resolve;
      document.head.append(element("script", { src: "rows.js" }));
    });
    return loading;
  }

  const MOST_ROWS = 200;

  async function showRows(place, numbers) {
    const [header, ...rows] = parsed(await loaded());
    const shown = numbers.slice(0, MOST_ROWS).map((number) => rows[number]);
    // Columns that are empty in all rows say nothing.
    const columns = header.map((_, column) => column)
      .filter((column) => shown.some((row) => row[column] !== ""));
    const headings = columns.map((column) => element("th", { scope: "col" }, header[column]));
    const lines = shown.map((row) =>
      element("tr", {}, ...columns.map((column) => {
        const isNumber = row[column] !== "" && !Number.isNaN(Number(row[column]));
        return element("td", isNumber ? { class: "number" } : {}, row[column]);
      })));
    const said = numbers.length > MOST_ROWS
      ? `The first ${MOST_ROWS} of ${numbers.length} rows` : `${numbers.length} rows`;
    const made = element("table", { class: "sortable" },
      element("caption", {}, `${said} behind this point, as in the CSV`),
      element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...lines));
    place.replaceChildren(
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, made));
    sortable(made);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("input[data-table]").forEach(filter);
    document.querySelectorAll(".copy").forEach(copying);
    const save = document.getElementById("save-rows");
    save?.addEventListener("click", async () => saved(save.dataset.name, "text/csv", await loaded()));
    const button = document.getElementById("theme");
    button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  });
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll(".claim details").forEach((one) => { one.open = true; });
  });

  return { table, element, sortable, command, saved, showRows };
})();
