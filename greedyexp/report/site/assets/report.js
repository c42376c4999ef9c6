// The pages of a report: themes, sorted tables, interactive figures and the rows behind a point.
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
    figures.forEach((figure) => figure.draw());
  }

  const isDark = () => root.dataset.theme === "dark";

  // The colour for the theme. On dark paper greys are inverted and dark colours lightened.
  function adapted(colour) {
    const found = /^rgba?\((\d+),(\d+),(\d+)(?:,([\d.]+))?\)$/.exec(colour || "");
    if (!isDark() || !found) return colour;
    let [red, green, blue] = found.slice(1, 4).map(Number);
    if (Math.max(red, green, blue) - Math.min(red, green, blue) < 12) {
      const inverted = Math.round(255 - 0.92 * ((red + green + blue) / 3));
      red = green = blue = inverted;
    } else {
      const light = (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
      const share = Math.max(0, (0.58 - light) / (1 - light));
      [red, green, blue] = [red, green, blue].map((part) => Math.round(part + share * (255 - part)));
    }
    return `rgba(${red},${green},${blue},${found[4] || 1})`;
  }

  // A copy of a part of a figure with the colours of the theme.
  function themed(part) {
    if (Array.isArray(part)) return part;
    if (part === null || typeof part !== "object") return part;
    const copy = {};
    for (const [key, value] of Object.entries(part)) {
      const isColour = (key === "color" || key === "fillcolor") && typeof value === "string";
      copy[key] = isColour ? adapted(value) : themed(value);
    }
    return copy;
  }

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

  // Rows of the run: a compressed CSV in a script, which pages can load without a server.

  let loading = null;
  let received = null;

  function table(packed) {
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    received(new Response(stream).text().then(parsed));
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

  const numbersOf = (runs) =>
    runs.flatMap(([first, step, count]) =>
      Array.from({ length: count }, (_, place) => first + step * place));

  const MOST_ROWS = 200;

  async function showRows(place, runs) {
    const [header, ...rows] = await loaded();
    const numbers = numbersOf(runs);
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

  // Figures

  const figures = [];

  const text = (value) => {
    if (value === null) return "none";
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  };

  const escaped = (value) => text(value).replace(/&/g, "&amp;").replace(/</g, "&lt;");

  class Figure {
    constructor(box) {
      this.box = box;
      this.plot = box.querySelector(".plot");
      this.given = JSON.parse(box.querySelector("script[type='application/json']").textContent);
      this.off = new Set();
      this.drawn = false;
      this.legend();
      this.tools();
      this.numbers();
    }

    get axes() {
      return Object.keys(this.given.layout).filter((name) => /^[xy]axis/.test(name));
    }

    hoverText(points) {
      const count = Object.values(points.facts)[0].length;
      return Array.from({ length: count }, (_, place) => [
        ...Object.entries(points.keys).map(([name, column]) => `${name} = ${escaped(column[place])}`),
        ...Object.entries(points.facts).map(([name, column]) =>
          `<b>${escaped(name)}</b>: ${escaped(column[place])}`),
      ].join("<br>"));
    }

    hidden(kind) {
      const found = new Set();
      this.given.legend.forEach((entry, place) => {
        if (this.off.has(place)) entry[kind].forEach((index) => found.add(index));
      });
      return found;
    }

    draw() {
      if (!this.drawn) return;
      const hidden = { traces: this.hidden("traces"), shapes: this.hidden("shapes") };
      const data = this.given.data.map((trace, index) => {
        const made = { ...themed(trace), type: "scatter", showlegend: false };
        made.visible = !hidden.traces.has(index);
        const points = this.given.points[index];
        if (points) made.text = this.hoverText(points);
        return made;
      });
      const style = getComputedStyle(root);
      const ink = style.getPropertyValue("--text").trim();
      const line = style.getPropertyValue("--line").trim();
      const layout = {
        ...themed(this.given.layout),
        shapes: this.given.layout.shapes.map((shape, index) =>
          ({ ...themed(shape), visible: !hidden.shapes.has(index) })),
        annotations: this.given.layout.annotations.map((one) => themed(one)),
        margin: { l: 0, r: 0, t: 0, b: 0 },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { size: 12, color: ink, family: "system-ui, sans-serif" },
        hovermode: "closest",
        hoverlabel: { align: "left" },
        dragmode: "zoom",
      };
      for (const name of this.axes) {
        const axis = { automargin: false, linecolor: ink, showline: true, zeroline: false,
          gridcolor: line, ticks: "outside", ticklen: 4, tickfont: { size: 11 }, ...layout[name] };
        const meta = axis.meta;
        delete axis.meta;
        const zoomed = this.ranges && this.ranges[name];
        if (zoomed) {
          axis.range = zoomed;
          // Ticks for the whole axis may all lie outside.
          if (meta) axis.tickmode = "auto";
        }
        layout[name] = axis;
      }
      Plotly.react(this.plot, data, layout, { displayModeBar: false, doubleClick: false });
    }

    start() {
      if (this.drawn) return;
      this.drawn = true;
      this.draw();
      this.plot.on("plotly_click", (event) => {
        const { curveNumber, pointNumber } = event.points[0];
        this.show(curveNumber, pointNumber);
      });
      this.plot.on("plotly_doubleclick", () => this.reset());
      this.plot.on("plotly_relayout", (changed) => {
        if (!Object.keys(changed).some((key) => key.includes(".range"))) return;
        this.ranges = {};
        for (const name of this.axes) this.ranges[name] = [...this.plot._fullLayout[name].range];
        this.draw();
      });
    }

    reset() {
      this.ranges = null;
      this.draw();
    }

    zoom(factor) {
      this.ranges ??= {};
      for (const name of this.axes) {
        const [low, high] = this.ranges[name] || this.given.layout[name].range;
        const middle = (low + high) / 2;
        this.ranges[name] = [low, high].map((end) => middle + (end - middle) * factor);
      }
      this.draw();
    }

    tools() {
      const press = (name, action) =>
        this.box.querySelector(`.tools .${name}`).addEventListener("click", action);
      press("in", () => this.zoom(0.5));
      press("out", () => this.zoom(2));
      press("reset", () => this.reset());
    }

    legend() {
      const place = this.box.querySelector(".legend");
      let heading = "";
      this.given.legend.forEach((entry, index) => {
        if (entry.heading !== heading) {
          heading = entry.heading;
          place.append(element("span", { class: "heading" }, heading));
        }
        const used = entry.traces.length + entry.shapes.length > 0;
        const button = element("button", { type: "button", "aria-pressed": "true" });
        button.append(swatch(entry.swatch), entry.label);
        if (used) {
          button.addEventListener("click", () => {
            if (this.off.delete(index)) button.setAttribute("aria-pressed", "true");
            else {
              this.off.add(index);
              button.setAttribute("aria-pressed", "false");
            }
            this.draw();
          });
          place.append(button);
        } else {
          place.append(element("span", {}, swatch(entry.swatch), ` ${entry.label}`));
        }
      });
    }

    // The table is an alternative to pointing, and is made when it is opened.
    numbers() {
      const details = this.box.querySelector(".numbers");
      if (Object.keys(this.given.points).length === 0) {
        details.remove();
        return;
      }
      details.addEventListener("toggle", () => {
        if (!details.open || details.querySelector("table")) return;
        details.append(element("div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the figure" },
          this.numbersTable()));
        sortable(details.querySelector("table"));
      });
    }

    numbersTable() {
      const sets = Object.entries(this.given.points);
      const names = (kind) => [...new Set(sets.flatMap(([, one]) => Object.keys(one[kind])))];
      const [keys, facts] = [names("keys"), names("facts")];
      const rows = sets.flatMap(([trace, one]) => {
        const count = Object.values(one.facts)[0].length;
        return Array.from({ length: count }, (_, place) => {
          const cells = [...keys.map((name) => one.keys[name]), ...facts.map((name) => one.facts[name])]
            .map((column) => (column === undefined ? "" : column[place]))
            .map((value) => element("td", typeof value === "number"
              ? { class: "number", "data-sort": String(value) } : {}, value === "" ? "" : text(value)));
          const button = element("button",
            { type: "button", onclick: () => this.show(Number(trace), place, true) }, "Rows");
          return element("tr", {}, ...cells, element("td", {}, button));
        });
      });
      const headings = [...keys, ...facts].map((name) => element("th", { scope: "col" }, name));
      return element("table", { class: "sortable" },
        element("caption", {}, "Numbers of the points of this figure"),
        element("thead", {}, element("tr", {}, ...headings,
          element("th", { scope: "col", "data-fixed": "" }, "behind it"))),
        element("tbody", {}, ...rows));
    }

    show(trace, place, focus = false) {
      const points = this.given.points[trace];
      if (!points) return;
      const list = element("dl", {});
      for (const kind of ["keys", "facts"]) {
        for (const [name, column] of Object.entries(points[kind])) {
          list.append(element("dt", {}, name), element("dd", {}, text(column[place])));
        }
      }
      const rows = element("div", {});
      const behind = points.behind[points.places[place]] || { rows: [], where: "" };
      const runs = behind.rows;
      const count = numbersOf(runs).length;
      const panel = this.box.querySelector(".chosen");
      const button = element("button",
        { type: "button", onclick: () => showRows(rows, runs) }, `Show the ${count} rows behind it`);
      panel.replaceChildren(element("h4", { tabindex: "-1" }, "Chosen point"), list);
      if (count) {
        const { replay } = JSON.parse(document.getElementById("run").textContent);
        panel.append(button, element("p", {}, "One of them is computed again by"),
          command(`${replay} --where ${behind.where}`), rows);
      }
      if (focus) panel.querySelector("h4").focus();
    }
  }

  function swatch(style) {
    const name = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(name, "svg");
    const add = (tag, attributes) => {
      const made = document.createElementNS(name, tag);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      svg.append(made);
    };
    for (const [key, value] of Object.entries({ width: 26, height: 12, "aria-hidden": "true" })) {
      svg.setAttribute(key, value);
    }
    svg.dataset.swatch = JSON.stringify(style);
    const paint = () => {
      svg.replaceChildren();
      if (style.area) add("rect", { x: 2, y: 1, width: 22, height: 10, fill: adapted(style.area) });
      if (style.line) {
        add("line", { x1: 0, x2: 26, y1: 6, y2: 6, stroke: adapted(style.line.color),
          "stroke-width": style.line.width,
          "stroke-dasharray": (style.line.dash || "").replace(/px/g, "") });
      }
      if (style.marker) {
        const edge = style.marker.line.color || style.marker.color;
        add("path", { d: shape(style.marker.symbol), fill: adapted(style.marker.color),
          stroke: adapted(edge) });
      }
    };
    paint();
    new MutationObserver(paint).observe(root, { attributeFilter: ["data-theme"] });
    return svg;
  }

  // The usual markers around (13, 6).
  function shape(symbol) {
    const shapes = {
      square: "M9.5 2.5h7v7h-7z", "triangle-up": "M13 1.5l4.5 8h-9z",
      "triangle-down": "M13 10.5l4.5 -8h-9z", "triangle-left": "M8.5 6l8 -4.5v9z",
      "triangle-right": "M17.5 6l-8 -4.5v9z", diamond: "M13 1.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
      cross: "M13 2v8M9 6h8", x: "M10 3l6 6M16 3l-6 6", "x-thin-open": "M10 3l6 6M16 3l-6 6",
      "cross-thin-open": "M13 2v8M9 6h8", "line-ew-open": "M9 6h8", "line-ns-open": "M13 2v8",
    };
    return shapes[symbol] || "M13 2.5a3.5 3.5 0 1 0 .01 0z";
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("input[data-table]").forEach(filter);
    document.querySelectorAll(".copy").forEach(copying);
    const watch = new IntersectionObserver((seen) => {
      for (const one of seen.filter((entry) => entry.isIntersecting)) {
        watch.unobserve(one.target);
        figures.find((figure) => figure.plot === one.target).start();
      }
    }, { rootMargin: "400px" });
    document.querySelectorAll(".figure").forEach((box) => {
      if (!box.querySelector(".plot")) return;
      const figure = new Figure(box);
      figures.push(figure);
      watch.observe(figure.plot);
    });
    const button = document.getElementById("theme");
    button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  });
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details.static, .claim details").forEach((one) => { one.open = true; });
  });

  return { table };
})();
