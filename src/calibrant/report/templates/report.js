"use strict";
(() => {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const save = (name, type, content) => {
    const link = document.createElement("a");
    link.href = typeof content === "string" && content.startsWith("data:") ? content
      : `data:${type};charset=utf-8,${encodeURIComponent(content)}`;
    link.download = name;
    link.click();
  };
  const button = (words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = words;
    made.addEventListener("click", act);
    return made;
  };

  // Marks of pictures tell their numbers to a pointer, a finger and the keyboard.
  const tip = by("tip");
  const tell = (mark) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left + at.width / 2 - tip.offsetWidth / 2, room)) + scrollX}px`;
    const above = at.top - tip.offsetHeight - 6;
    tip.style.top = `${(above > 0 ? above : at.bottom + 6) + scrollY}px`;
  };
  const hush = () => { tip.hidden = true; };
  for (const picture of all("figure svg")) {
    const marks = all(".mark", picture);
    marks.forEach((mark, place) => {
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
      mark.setAttribute("tabindex", place ? "-1" : "0");
      for (const event of ["pointerenter", "focus", "click"]) mark.addEventListener(event, () => tell(mark));
      for (const event of ["pointerleave", "blur"]) mark.addEventListener(event, hush);
      mark.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") hush();
        if (!step) return;
        event.preventDefault();
        let next = marks[(place + step + marks.length) % marks.length];
        while (next.closest("[display=none]")) next = marks[(marks.indexOf(next) + step + marks.length) % marks.length];
        mark.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      });
    });
    const name = picture.id.replace("picture-", "");
    // Programs that draw know no variables: the colours for light paper stand beside them.
    const text = () => new XMLSerializer().serializeToString(picture)
      .replace(/var\(--[a-z-]+, (#[0-9a-f]{6})\)/g, "$1");
    const tools = document.createElement("p");
    tools.className = "save";
    tools.append(button("Save SVG", () => save(`${name}.svg`, "image/svg+xml", text())),
      button("Save PNG", () => {
        const image = new Image();
        image.onload = () => {
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
          const paper = canvas.getContext("2d");
          paper.fillStyle = "#ffffff";
          paper.fillRect(0, 0, canvas.width, canvas.height);
          paper.drawImage(image, 0, 0, canvas.width, canvas.height);
          save(`${name}.png`, "image/png", canvas.toDataURL("image/png"));
        };
        image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text())}`;
      }));
    picture.closest("figure").append(tools);
  }

  // What the proposed calibrator would make of the forecasts.
  by("after")?.addEventListener("change", (event) => {
    for (const [part, shown] of [[".after", event.target.checked], [".before", !event.target.checked]]) {
      const drawn = document.querySelector(`#picture-reliability ${part}`);
      if (shown) drawn.removeAttribute("display");
      else drawn.setAttribute("display", "none");
    }
  });

  // The sentences, for a message or a slide.
  by("copy").addEventListener("click", async () => {
    const lead = document.querySelector(".lead").cloneNode(true);
    all("button", lead).forEach((each) => each.remove());
    const words = [".title", ".verdict"].map((name) => document.querySelector(name).textContent);
    const sentences = [...words, lead.textContent].join("\n").replace(/[ \t\n]*\n[ \t\n]*/g, "\n").replace(/\u202f/g, " ").trim();
    try {
      await navigator.clipboard.writeText(sentences);
    } catch {
      const area = document.createElement("textarea");
      area.value = sentences;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    by("copy").textContent = "Copied";
  });

  // Tables: sorted by a click on a head, filtered by words and verdict, saved with all digits.
  const value = (cell) => {
    const words = cell.textContent.trim();
    if (words.startsWith("infinite")) return Infinity;
    const number = parseFloat(words.replace(/(\d)\s(?=\d)/g, "$1"));
    return Number.isNaN(number) ? words : number;
  };
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    all("thead th", table).forEach((head, place) => {
      const sort = button(head.textContent, () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => order(value(a.cells[place]), value(b.cells[place])));
        body.append(...(down ? rows.reverse() : rows));
      });
      head.replaceChildren(sort);
    });
    const name = table.id.replace("table-", "");
    const tools = document.querySelector(`.tools[data-for="${name}"]`);
    const [words, which] = [tools.querySelector(".filter"), tools.querySelector(".which")];
    const filter = () => {
      let shown = 0;
      for (const row of body.rows) {
        const fits = row.cells[0].textContent.toLowerCase().includes(words.value.trim().toLowerCase());
        row.hidden = !(fits && (!which.value || row.querySelector(".state").textContent === which.value));
        shown += !row.hidden;
      }
      tools.querySelector(".found").textContent = `${shown} of ${body.rows.length}`;
    };
    words.addEventListener("input", filter);
    which.addEventListener("input", filter);
    table.addEventListener("judged", filter);
    filter();
    tools.querySelector(".csv").addEventListener("click", () => {
      const columns = data.tables[name];
      const heads = Object.keys(columns);
      const quoted = (entry) => (entry === null ? "" : /[",\n\r]/.test(entry) ? `"${String(entry).replace(/"/g, '""')}"` : String(entry));
      const lines = columns[heads[0]].map((_, row) => heads.map((head) => quoted(columns[head][row])).join(","));
      save(`${name}.csv`, "text/csv", [heads.join(","), ...lines].join("\n") + "\n");
    });
  }

  // Another tolerance judges by the same intervals; the slider runs from a tenth to ten times.
  const slider = by("tolerance");
  const given = Number(slider.dataset.tolerance);
  const { size, one, several } = slider.dataset;
  const points = (share) => {
    const number = String(Number((share / size).toPrecision(2)));
    return `${number} ${number === "1" ? one : several}`.trim();
  };
  const judge = (low, high, allowed) => (high <= allowed ? "calibrated" : low > allowed ? "miscalibrated" : "undecided");
  const worst = (states) => ["miscalibrated", "undecided", "calibrated"].find((one) => states.includes(one));
  const rejudge = () => {
    const allowed = Number(slider.value) === 0.5 ? given : given * 10 ** (2 * slider.value - 1);
    for (const one of all(".judged")) {
      const { low, high, factor, gapLow, gapHigh, gapFactor } = one.dataset;
      const states = [judge(Number(low), Number(high), allowed * factor)];
      if (gapLow !== undefined) states.push(judge(Number(gapLow), Number(gapHigh), allowed * gapFactor));
      const state = worst(states);
      const word = one.querySelector(".state");
      if (word) {
        word.textContent = state;
        word.className = `state ${state}`;
      } else {
        one.classList.remove("calibrated", "miscalibrated", "undecided");
        one.classList.add(state);
        const shape = one.querySelector(".shape");
        if (!["left", "right"].some((end) => shape.getAttribute("d") === data.shapes[end])) shape.setAttribute("d", data.shapes[state]);
      }
      one.dataset.state = state;
    }
    for (const line of all(".tolerance")) {
      const at = Math.min(Number(line.dataset.zero) + line.dataset.unit * allowed * line.dataset.factor, Number(line.dataset.end));
      line.setAttribute("transform", `translate(${at - line.dataset.at} 0)`);
    }
    all("table.sortable").forEach((table) => table.dispatchEvent(new Event("judged")));
    const parts = all("#picture-scale .judged").map((one) => one.dataset.state);
    const rows = all("table.sortable tbody tr").map((row) => row.dataset.state);
    const state = worst(rows.includes("miscalibrated") ? rows : parts);
    const verdict = document.querySelector(".verdict");
    verdict.classList.remove("calibrated", "miscalibrated", "undecided");
    verdict.classList.add(state);
    by("tolerance-shown").textContent = points(allowed);
    const counted = all("table.sortable").map((table) => {
      const beyond = all("tbody tr", table).filter((row) => row.dataset.state === "miscalibrated").length;
      return ` ${beyond} of ${table.tBodies[0].rows.length} ${table.id.replace("table-", "")} beyond it.`;
    });
    by("what-if").textContent = `At ${points(allowed)} the verdict is: ${state}.${counted.join("")}`;
  };
  slider.addEventListener("input", rejudge);
  by("reset").addEventListener("click", () => { slider.value = "0.5"; rejudge(); });
  rejudge();

  // Losses when the two costs add up to one, linear between the thresholds of the table.
  const curve = data.curve;
  if (curve) {
    const loss = (t, column) => {
      const n = curve.threshold.length;
      if (t <= curve.threshold[0]) return column[0] * t / curve.threshold[0];
      if (t >= curve.threshold[n - 1]) return column[n - 1] * (1 - t) / (1 - curve.threshold[n - 1]);
      let i = 0;
      while (curve.threshold[i + 1] < t) i += 1;
      const share = (t - curve.threshold[i]) / (curve.threshold[i + 1] - curve.threshold[i]);
      return column[i] * (1 - share) + column[i + 1] * share;
    };
    const threshold = by("threshold");
    const price = () => {
      const [act, miss, decisions] = ["act", "miss", "decisions"].map((id) => Number(by(id).value));
      if (!(act > 0 && miss > act && decisions > 0)) return;
      const t = act / miss;
      threshold.value = String(t);
      by("threshold-shown").textContent = t.toPrecision(3);
      for (const [id, column] of [["cost", curve.loss], ["perfect", curve.perfect], ["most", curve.most]]) {
        const money = Number((miss * decisions * loss(t, column)).toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
        by(id).textContent = `${money.replace(/,/g, "\u202f")} ${by("currency").value}`.trim();
      }
      by("chance").hidden = loss(t, curve.loss) > loss(t, curve.most);
    };
    threshold.addEventListener("input", () => {
      by("miss").value = String(Number((Number(by("act").value) / Number(threshold.value)).toPrecision(4)));
      price();
    });
    for (const id of ["act", "miss", "currency", "decisions"]) by(id).addEventListener("input", price);
    price();
  }

  // Paper cannot unfold.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    folded.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));
})();
