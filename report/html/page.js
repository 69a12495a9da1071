"use strict";
(() => {
  const table = document.getElementById("jobs");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const columns = [...table.tHead.rows[0].cells];
  const names = columns.map((c) => c.textContent);
  const total = `${rows.length} ${rows.length === 1 ? "job" : "jobs"}`;
  const details = new Map(); // rows of opened jobs
  const byId = (id) => document.getElementById(id);
  const column = (name) => names.indexOf(name);
  const cell = (row, name) => (column(name) < 0 ? "" : row.cells[column(name)].textContent);
  const jobOf = (row) => cell(row, "Job");
  let sorted = { column: -1, down: false };

  // Only texts that are used are read, so that a large table opens fast.
  const value = (row, i) => {
    const c = row.cells[i];
    return c.dataset.v === undefined ? c.textContent : Number(c.dataset.v);
  };

  function order() {
    if (sorted.column < 0) return rows.slice();
    const keyed = rows.map((row, n) => ({ row, n, v: value(row, sorted.column) }));
    const text = new Intl.Collator("en", { numeric: true });
    keyed.sort((a, b) => {
      const d = typeof a.v === "number" ? a.v - b.v : text.compare(a.v, b.v);
      return (sorted.down ? -d : d) || a.n - b.n;
    });
    return keyed.map((k) => k.row);
  }

  function groupRow(name, members) {
    const tr = document.createElement("tr");
    tr.className = "group";
    const th = document.createElement("th");
    th.colSpan = columns.length;
    th.scope = "rowgroup";
    const passed = members.filter((row) => cell(row, "Outcome") === "passed").length;
    th.textContent = `${name || "(none)"}: ${members.length} ${members.length === 1 ? "job" : "jobs"}, ${passed} passed`;
    tr.append(th);
    return tr;
  }

  function arrange() {
    const text = byId("filter").value.trim().toLowerCase();
    const outcome = byId("outcome").value;
    const shown = order().filter((row) => (!outcome || cell(row, "Outcome") === outcome) && (!text || row.textContent.toLowerCase().includes(text)));
    const by = { outcome: "Outcome", repo: "Repository", task: "Task" }[byId("group").value];
    const fragment = document.createDocumentFragment();
    const add = (row) => {
      fragment.append(row);
      if (details.has(row)) fragment.append(details.get(row));
    };
    if (by) {
      const groups = new Map();
      for (const row of shown) {
        const name = cell(row, by);
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push(row);
      }
      for (const [name, members] of groups) {
        fragment.append(groupRow(name, members));
        members.forEach(add);
      }
    } else {
      shown.forEach(add);
    }
    body.replaceChildren(fragment);
    byId("shown").textContent = shown.length === rows.length ? total : `${shown.length} of ${total}`;
  }

  async function inflate(id) {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).text();
  }

  async function toggle(row, open) {
    const button = row.querySelector("button");
    if (details.has(row)) {
      const detail = details.get(row);
      detail.hidden = open === undefined ? !detail.hidden : !open;
      button.setAttribute("aria-expanded", String(!detail.hidden));
      return;
    }
    const tr = document.createElement("tr");
    tr.className = "detail";
    tr.id = "job" + row.dataset.n;
    button.setAttribute("aria-controls", tr.id);
    const td = document.createElement("td");
    td.colSpan = columns.length;
    tr.append(td);
    details.set(row, tr);
    row.after(tr);
    button.setAttribute("aria-expanded", "true");
    try {
      td.innerHTML = await inflate("d" + row.dataset.n);
    } catch (err) {
      td.textContent = "This browser can't show the details (" + err + "). Use millhand report show, or a newer browser.";
    }
    const folds = [...td.querySelectorAll("details")];
    if (folds.length > 1) {
      const all = document.createElement("button");
      all.type = "button";
      all.textContent = "Open all sections";
      all.addEventListener("click", () => {
        const closed = folds.some((d) => !d.open);
        folds.forEach((d) => { d.open = closed; });
        all.textContent = closed ? "Close all sections" : "Open all sections";
      });
      td.firstElementChild.prepend(all);
    }
  }

  body.addEventListener("click", (e) => {
    const button = e.target.closest("th > button");
    if (!button) return;
    const row = button.closest("tr");
    toggle(row);
    history.replaceState(null, "", "#job=" + encodeURIComponent(jobOf(row)));
  });

  columns.forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = names[i];
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      sorted = { column: i, down: sorted.column === i ? !sorted.down : th.classList.contains("n") };
      columns.forEach((c) => c.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      columns.forEach((c, k) => { c.firstChild.textContent = names[k] + (k === i ? (sorted.down ? " ↓" : " ↑") : ""); });
      arrange();
    });
  });

  byId("controls").hidden = false;
  byId("shown").textContent = total;
  // The outcomes are those of the legend, so that no row has to be read.
  for (const badge of document.querySelectorAll(".outcomes .badge")) byId("outcome").append(new Option(badge.textContent, badge.textContent));
  byId("filter").addEventListener("input", arrange);
  byId("outcome").addEventListener("change", arrange);
  byId("group").addEventListener("change", arrange);

  // The job that the address names; "" for none, and for an address that was cut.
  const named = () => {
    try {
      return location.hash.startsWith("#job=") ? decodeURIComponent(location.hash.slice(5)) : "";
    } catch {
      return "";
    }
  };

  const open = () => {
    const wanted = named();
    const row = wanted ? rows.find((r) => jobOf(r) === wanted) : rows.length === 1 ? rows[0] : null;
    if (row) toggle(row, true).then(() => { if (wanted) row.scrollIntoView(); });
  };
  window.addEventListener("hashchange", open);
  open();
})();
