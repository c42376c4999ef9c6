// Figures: numbers of points by pointer and keys, legends, zoom, and the rows behind a point.
"use strict";

{
  const { element, sortable, command, saved, showRows } = greedyexp;
  // How far from a point it is found, and which others lie on it, in units of the figure.
  const REACH = 14;
  const NEAR = 2.5;
  const MOST_LISTED = 4;
  const STEPS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

  const text = (value) => {
    if (value === null) return "none";
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  };

  const numbersOf = (runs) =>
    runs.flatMap(([first, step, count]) =>
      Array.from({ length: count }, (_, place) => first + step * place));

  // A column with one value for all points has it once.
  const at = (column, place) => (column.length === 1 ? column[0] : column[place]);

  const pairs = ({ series, place }, kind) =>
    Object.entries(series[kind]).map(([name, column]) => [name, at(column, place)]);

  const terms = (found, ...kinds) => element("dl", {}, ...kinds.flatMap((kind) =>
    pairs(found, kind).flatMap(([name, value]) =>
      [element("dt", {}, name), element("dd", {}, text(value))])));

  const words = (found, kind) =>
    pairs(found, kind).map(([name, value]) => `${name} = ${text(value)}`).join(", ");

  const box = (a, b) => ({
    x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]),
    width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]),
  });

  const set = (part, attributes) => {
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
    return part;
  };

  class Figure {
    constructor(home) {
      this.home = home;
      this.canvas = home.querySelector(".canvas");
      this.svg = this.canvas.querySelector("svg");
      this.whole = this.svg.getAttribute("viewBox").split(" ").map(Number);
      this.all = JSON.parse(home.querySelector("script[type='application/json']").textContent);
      this.off = new Set();
      this.tip = this.canvas.appendChild(element("div", { class: "tip", hidden: "" }));
      this.ring = this.add("rect", { class: "ring", visibility: "hidden" });
      this.frame = this.add("rect", { class: "frame", visibility: "hidden" });
      this.reset();
      this.pointer();
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      this.canvas.addEventListener("blur", () => this.hide());
      for (const entry of this.svg.querySelectorAll("[data-entry]")) {
        // All of its box can be clicked.
        const { x, y, width, height } = entry.getBBox();
        const look = { fill: "none", "pointer-events": "all" };
        entry.prepend(this.add("rect", { x, y, width, height, ...look }));
        entry.addEventListener("click", () => this.toggle(entry));
      }
      const press = (name, action) =>
        home.querySelector(`.tools .${name}`).addEventListener("click", action);
      press("in", () => this.zoom(0.5));
      press("out", () => this.zoom(2));
      press("reset", () => this.reset());
      press("save", () => this.save());
      window.addEventListener("beforeprint", () => this.reset());
      this.numbers();
    }

    add(name, attributes) {
      const made = document.createElementNS(this.svg.namespaceURI, name);
      return this.svg.appendChild(set(made, attributes));
    }

    // Points that are shown, by pointer and by keys

    get shown() {
      return this.all.filter(({ entries, x }) =>
        !entries.some((entry) => this.off.has(entry)) && x.some((value) => value !== null));
    }

    units(event) {
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = point.matrixTransform(this.svg.getScreenCTM().inverse());
      return [x, y];
    }

    // The points within a distance, or whose cells are there, nearest first.
    around(x, y, reach) {
      const found = [];
      for (const series of this.shown) {
        series.x.forEach((value, place) => {
          if (value === null) return;
          const [width, height] = [at(series.width, place), at(series.height, place)];
          const [across, up] = [Math.abs(value - x), Math.abs(series.y[place] - y)];
          const inside = width > 0 && across <= width / 2 && up <= height / 2;
          const distance = inside ? reach : Math.hypot(across, up);
          if (inside || (width === 0 && distance < reach)) found.push({ series, place, distance });
        });
      }
      return found.sort((a, b) => a.distance - b.distance);
    }

    pointer() {
      let start = null;
      this.svg.addEventListener("pointerdown", (event) => {
        // Text is selected by dragging.
        const isText = event.target.closest("text, [data-entry]");
        if (event.button === 0 && event.pointerType === "mouse" && !isText) {
          start = this.units(event);
          event.preventDefault();
          this.canvas.focus({ preventScroll: true });
        }
      });
      this.svg.addEventListener("pointermove", (event) => {
        if (start) set(this.frame, { ...box(start, this.units(event)), visibility: "visible" });
        else this.look(this.around(...this.units(event), REACH)[0]);
      });
      this.svg.addEventListener("pointerleave", () => this.hide());
      window.addEventListener("pointerup", (event) => {
        if (!start) return;
        const { x, y, width, height } = box(start, this.units(event));
        start = null;
        set(this.frame, { visibility: "hidden" });
        if (Math.min(width, height) > 5) this.show([x, y, width, height]);
      });
      this.svg.addEventListener("click", (event) => {
        const found = this.around(...this.units(event), REACH)[0];
        if (found && !event.target.closest("[data-entry]")) this.choose(found);
      });
      this.svg.addEventListener("dblclick", () => this.reset());
    }

    key(event) {
      const entry = event.target.closest("[data-entry]");
      if (entry && (event.key === "Enter" || event.key === " ")) this.toggle(entry);
      else if (STEPS[event.key]) this.walk(...STEPS[event.key]);
      else if (event.key === "Enter" && this.current) this.choose(this.current, true);
      else if (event.key === "Escape") this.reset();
      else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 0.5 : 2);
      else return;
      event.preventDefault();
    }

    // Go to the next point of a series, or to the nearest one of the next series.
    walk(along, across) {
      const series = this.shown;
      if (series.length === 0) return;
      const known = this.current && series.includes(this.current.series);
      let found = known ? { ...this.current } : { series: series[0], place: -1 };
      if (across && known) {
        const next = (series.indexOf(found.series) + across + series.length) % series.length;
        const [x, y] = [found.series.x[found.place], found.series.y[found.place]];
        const far = (place) => series[next].x[place] === null ? Infinity
          : Math.hypot(series[next].x[place] - x, 0.01 * (series[next].y[place] - y));
        const places = [...series[next].x.keys()].sort((a, b) => far(a) - far(b));
        found = { series: series[next], place: places[0] };
      } else {
        do found.place += along || 1; while (found.series.x[found.place] === null);
        if (found.series.x[found.place] === undefined) return;
      }
      this.look(found, true);
    }

    look(found, spoken = false) {
      if (!found) {
        this.hide();
        return;
      }
      this.current = found;
      const { series, place } = found;
      const [x, y] = [series.x[place], series.y[place]];
      const isCell = at(series.width, place) > 0;
      const [width, height] = isCell ? [at(series.width, place), at(series.height, place)] : [9, 9];
      set(this.ring, { x: x - width / 2, y: y - height / 2, width, height,
        rx: isCell ? 0 : 4.5, visibility: "visible" });
      const others = isCell ? [] : this.around(x, y, NEAR)
        .filter((one) => one.series !== series || one.place !== place);
      const listed = [found, ...others].slice(0, MOST_LISTED);
      const more = others.length + 1 - listed.length;
      this.tip.replaceChildren(
        ...listed.flatMap((one) => [element("strong", {}, words(one, "keys")), terms(one, "facts")]),
        more ? `and ${more} more here` : "");
      this.tip.hidden = false;
      const spot = new DOMPoint(x, y).matrixTransform(this.svg.getScreenCTM());
      const own = this.tip.getBoundingClientRect();
      const beside = spot.x + 16 + own.width > innerWidth ? spot.x - 16 - own.width : spot.x + 16;
      this.tip.style.left = `${Math.max(4, beside)}px`;
      this.tip.style.top = `${Math.max(4, Math.min(spot.y + 12, innerHeight - own.height - 4))}px`;
      if (!spoken) return;
      this.home.querySelector(".said").textContent =
        `${words(found, "keys")}: ${words(found, "facts")}`;
    }

    hide() {
      this.tip.hidden = true;
      set(this.ring, { visibility: "hidden" });
    }

    // Legends and zoom

    toggle(entry) {
      const place = Number(entry.dataset.entry);
      const isShown = this.off.delete(place);
      if (!isShown) this.off.add(place);
      entry.setAttribute("aria-pressed", String(isShown));
      for (const mark of this.svg.querySelectorAll("[data-entries]")) {
        const entries = mark.dataset.entries.split(" ").map(Number);
        mark.classList.toggle("off", entries.some((one) => this.off.has(one)));
      }
      this.hide();
    }

    show(view) {
      this.view = view;
      set(this.svg, { viewBox: view.join(" ") });
      this.hide();
    }

    reset() {
      this.show(this.whole);
    }

    zoom(factor) {
      const [x, y, width, height] = this.view;
      if (width * factor >= this.whole[2]) {
        this.reset();
        return;
      }
      const place = this.ring.getAttribute("visibility") === "visible" ? this.current : null;
      const middle = place ? [place.series.x[place.place], place.series.y[place.place]]
        : [x + width / 2, y + height / 2];
      this.show([middle[0] - (width * factor) / 2, middle[1] - (height * factor) / 2,
        width * factor, height * factor]);
    }

    save() {
      const copy = set(this.svg.cloneNode(true), { viewBox: this.whole.join(" ") });
      copy.querySelectorAll(".ring, .frame, .off").forEach((part) => part.remove());
      const content = new XMLSerializer().serializeToString(copy);
      saved(`${this.home.id.replace("figure-", "")}.svg`, "image/svg+xml", content);
    }

    // The table is an alternative to pointing, and is made when it is opened.
    numbers() {
      const details = this.home.querySelector(".numbers");
      if (this.all.length === 0) details.remove();
      details.addEventListener("toggle", () => {
        if (!details.open || details.querySelector("table")) return;
        details.append(element("div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the figure" },
          this.table()));
        sortable(details.querySelector("table"));
      });
    }

    table() {
      const names = (kind) => [...new Set(this.all.flatMap((one) => Object.keys(one[kind])))];
      const columns = ["keys", "facts"].flatMap((kind) => names(kind).map((name) => [kind, name]));
      const rows = this.all.flatMap((series) => series.x.map((_, place) => {
        const cells = columns.map(([kind, name]) => {
          const value = name in series[kind] ? at(series[kind][name], place) : "";
          return element("td", typeof value === "number"
            ? { class: "number", "data-sort": String(value) } : {}, value === "" ? "" : text(value));
        });
        const button = element("button",
          { type: "button", onclick: () => this.choose({ series, place }, true) }, "Rows");
        return element("tr", {}, ...cells, element("td", {}, button));
      }));
      const headings = columns.map(([, name]) => element("th", { scope: "col" }, name));
      return element("table", { class: "sortable" },
        element("caption", {}, "Numbers of the points of this figure"),
        element("thead", {}, element("tr", {}, ...headings,
          element("th", { scope: "col", "data-fixed": "" }, "behind it"))),
        element("tbody", {}, ...rows));
    }

    choose(found, focus = false) {
      const { behind, places } = found.series;
      const { rows, where } = behind[places[found.place]] || { rows: [], where: "" };
      const numbers = numbersOf(rows);
      const panel = this.home.querySelector(".chosen");
      panel.replaceChildren(element("h4", { tabindex: "-1" }, "Chosen point"), terms(found, "keys", "facts"));
      if (numbers.length) {
        const run = JSON.parse(document.getElementById("run").textContent);
        const table = element("div", {});
        panel.append(
          run.rows
            ? element("button", { type: "button", onclick: () => showRows(table, numbers) },
              `Show the ${numbers.length} rows behind it`)
            : element("p", {}, `${numbers.length} rows of ${run.table} are behind it. Counted from`
              + ` 0, they are ${numbers.slice(0, 200).join(", ")}${numbers.length > 200 ? ", ..." : ""}.`),
          element("p", {}, "One of them is computed again by"),
          command(`${run.replay} --where ${where}`), table);
      }
      if (focus) panel.querySelector("h4").focus();
    }
  }

  document.querySelectorAll(".figure:has(.canvas)").forEach((home) => new Figure(home));
}
