"use strict";
(() => {
  const table = document.getElementById("jobs");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows]; // those that were read
  const columns = [...table.tHead.rows[0].cells];
  const names = columns.map((c) => c.textContent);
  const byId = (id) => document.getElementById(id);
  const rest = byId("rest"); // the other rows, a text while scripts run
  const count = rows.length + (rest ? Number(rest.dataset.rows) : 0);
  const total = `${count} ${count === 1 ? "job" : "jobs"}`;
  const batch = 100; // rows that are added together
  const details = new Map(); // rows of opened jobs
  const packed = () => (packed.lines ??= byId("details").firstChild.data.split("\n"));
  let list; // jobs and groups in their order, of which the first are in the table
  let added = rows.length; // the number of these
  const column = (name) => names.indexOf(name);
  const cell = (row, name) => (column(name) < 0 ? "" : row.cells[column(name)].textContent);
  const jobOf = (row) => cell(row, "Job");
  let sorted = { column: -1, down: false };

  // Only texts that are used are read, so that a large table opens fast.
  const value = (row, i) => {
    const c = row.cells[i];
    return c.dataset.v === undefined ? c.textContent : Number(c.dataset.v);
  };

  // Reads all rows.
  function all() {
    if (rows.length < count) {
      const template = document.createElement("template");
      template.innerHTML = rest.textContent;
      rows.push(...template.content.querySelector("tbody").rows);
    }
    return rows;
  }

  const shown = () => (list ??= all().slice());

  // Adds rows until the table has the given number of those that are shown.
  function add(until) {
    const fragment = document.createDocumentFragment();
    for (const row of shown().slice(added, until)) {
      row.setAttribute("aria-rowindex", ++added + 1);
      fragment.append(row);
      if (details.has(row)) fragment.append(details.get(row));
    }
    body.append(fragment);
    missing(shown().length - added);
  }

  const visible = new IntersectionObserver((entries) => {
    if (entries.some((e) => e.isIntersecting)) add(added + batch);
  }, { rootMargin: "1000px" });

  // Updates what depends on the number of rows that are not in the table yet.
  function missing(n) {
    const more = byId("more");
    more.hidden = n === 0;
    more.firstChild.textContent = `Show all rows (${n} more)`;
    if (n === 0) table.removeAttribute("aria-rowcount");
    else table.setAttribute("aria-rowcount", added + n + 1);
    visible.disconnect(); // what is still visible is not reported again
    if (n > 0) visible.observe(more);
  }

  function order() {
    if (sorted.column < 0) return all().slice();
    const keyed = all().map((row, n) => ({ row, n, v: value(row, sorted.column) }));
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
    const jobs = order().filter((row) => (!outcome || cell(row, "Outcome") === outcome) && (!text || row.textContent.toLowerCase().includes(text)));
    const by = { outcome: "Outcome", repo: "Repository", task: "Task" }[byId("group").value];
    list = jobs;
    if (by) {
      const groups = new Map();
      for (const row of jobs) {
        const name = cell(row, by);
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push(row);
      }
      list = [...groups].flatMap(([name, members]) => [groupRow(name, members), ...members]);
    }
    body.replaceChildren();
    added = 0;
    add(batch);
    byId("shown").textContent = jobs.length === count ? total : `${jobs.length} of ${total}`;
  }

  // The details of jobs in a row are one stream: see block.go.
  async function inflate(n) {
    let first = n;
    while (packed()[first].startsWith("+")) first--;
    const parts = [];
    let before = 0;
    let length = 0;
    for (const line of packed().slice(first, n + 1)) {
      const [size, data] = line.split(" ");
      before += length;
      length = Number(size);
      parts.push(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
    }
    parts.push(new Uint8Array([3, 0])); // the end of a stream
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new TextDecoder().decode(new Uint8Array(await new Response(stream).arrayBuffer(), before, length));
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
      td.innerHTML = await inflate(Number(row.dataset.n));
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

  // Sorts by a column, those of numbers with the highest first; by none for -1.
  function sortBy(i, down) {
    sorted = { column: i, down };
    columns.forEach((c, k) => {
      c.removeAttribute("aria-sort");
      c.firstChild.textContent = names[k] + (k === i ? (down ? " ↓" : " ↑") : "");
    });
    columns[i]?.setAttribute("aria-sort", down ? "descending" : "ascending");
    byId("sort").value = String(i);
    arrange();
  }

  columns.forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = names[i];
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      sortBy(i, sorted.column === i ? !sorted.down : th.classList.contains("n"));
    });
    if (i > 0) byId("sort").append(new Option(names[i].toLowerCase() + (th.classList.contains("n") ? ", highest first" : ""), String(i)));
  });
  byId("sort").addEventListener("change", () => {
    const i = Number(byId("sort").value);
    sortBy(i, i >= 0 && columns[i].classList.contains("n"));
  });

  byId("more").firstChild.addEventListener("click", () => add(Infinity));
  window.addEventListener("beforeprint", () => { if (added < count) add(Infinity); });
  if (rows.length < count) {
    rows.forEach((row, i) => row.setAttribute("aria-rowindex", i + 2));
    missing(count - rows.length);
  }

  byId("controls").hidden = count < 2;
  byId("shown").textContent = total;
  // The outcomes are those of the legend, so that no row has to be read.
  const outcomes = document.querySelectorAll(".outcomes .badge"); // none if all jobs have the same
  for (const badge of outcomes) byId("outcome").append(new Option(badge.textContent, badge.textContent));
  byId("outcome").parentElement.hidden = outcomes.length === 0;
  byId("group").parentElement.hidden = outcomes.length === 0 && byId("group").options.length < 3;
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
    const is = (r) => jobOf(r) === wanted;
    const row = wanted ? rows.find(is) || all().find(is) : count === 1 ? rows[0] : null;
    if (!row) return;
    if (!shown().includes(row)) { // filtered out
      byId("filter").value = byId("outcome").value = "";
      arrange();
    }
    if (!row.isConnected) add(shown().indexOf(row) + 1);
    toggle(row, true).then(() => { if (wanted) row.scrollIntoView(); });
  };
  window.addEventListener("hashchange", open);
  open();
})();
