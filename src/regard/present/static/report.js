"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const store = document.getElementById("attention-data");
  const root = document.getElementById("attention-view");
  if (!store || !root) return;
  const examples = JSON.parse(store.textContent);
  const [pickExample, pickSite, pickHead] = root.querySelectorAll("select");
  const figure = root.querySelector("svg");
  const links = root.querySelector("tbody");
  const readout = root.querySelector(".readout");
  root.querySelector(".pick").hidden = false;

  const fill = (select, names, chosen) => {
    select.replaceChildren(...names.map((name, i) => new Option(name, i, false, i === chosen)));
  };
  const element = (name, attributes, content) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    return made;
  };
  // stored as round(255 * sqrt(weight)), one byte each, heads one after the other
  const weights = (site, head) => {
    const bytes = Uint8Array.from(atob(site.data), (c) => c.charCodeAt(0));
    const size = site.queries.length * site.keys.length;
    const take = (h) => Array.from(bytes.subarray(h * size, (h + 1) * size), (b) => (b / 255) ** 2);
    if (head < site.heads) return take(head);
    const sum = new Array(size).fill(0);
    for (let h = 0; h < site.heads; h++) take(h).forEach((w, i) => { sum[i] += w / site.heads; });
    return sum;
  };
  const draw = () => {
    const site = examples[pickExample.value].sites[pickSite.value];
    const { queries, keys } = site;
    const w = weights(site, Number(pickHead.value));
    const top = Math.max(...w, 1e-9);
    const left = Number(figure.dataset.left), above = Number(figure.dataset.above), cell = Number(figure.dataset.cell);
    const width = left + keys.length * cell + 40, height = above + queries.length * cell + 1;
    figure.setAttribute("viewBox", `0 0 ${width} ${height}`);
    figure.setAttribute("width", width);
    figure.setAttribute("height", height);
    const parts = [];
    queries.forEach((q, i) => parts.push(element("text", { x: left - 4, y: above + (i + 0.7) * cell, class: "end" }, q)));
    keys.forEach((k, j) => {
      const x = left + (j + 0.7) * cell;
      parts.push(element("text", { x, y: above - 4, transform: `rotate(-60 ${x} ${above - 4})` }, k));
    });
    w.forEach((value, n) => {
      const i = Math.floor(n / keys.length), j = n % keys.length;
      const rect = element("rect", { x: left + j * cell, y: above + i * cell, width: cell, height: cell,
        class: "cell", "fill-opacity": Math.sqrt(value / top).toFixed(3) });
      rect.addEventListener("pointerenter", () => {
        readout.textContent = `${queries[i]} → ${keys[j]}: ${value.toFixed(3)}`;
      });
      parts.push(rect);
    });
    parts.push(element("rect", { x: left, y: above, width: keys.length * cell, height: queries.length * cell, class: "mapframe" }));
    figure.replaceChildren(...parts);
    const order = w.map((value, n) => [value, n]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 8);
    links.replaceChildren(...order.map(([value, n]) => {
      const row = document.createElement("tr");
      for (const shown of [queries[Math.floor(n / keys.length)], keys[n % keys.length], value.toFixed(3)]) {
        row.insertCell().textContent = shown;
      }
      row.lastChild.className = "n";
      return row;
    }));
    readout.textContent = "";
  };
  const chooseSite = () => {
    const site = examples[pickExample.value].sites[pickSite.value];
    const names = Array.from({ length: site.heads }, (_, h) => `head ${h}`);
    fill(pickHead, site.heads > 1 ? [...names, "mean of heads"] : names, site.heads > 1 ? site.heads : 0);
    draw();
  };
  const chooseExample = () => {
    const sites = examples[pickExample.value].sites;
    const kept = Math.min(Number(pickSite.value) || sites.length - 1, sites.length - 1);
    fill(pickSite, sites.map((s) => s.name), kept);
    chooseSite();
  };
  fill(pickExample, examples.map((e) => e.name), 0);
  pickExample.addEventListener("change", chooseExample);
  pickSite.addEventListener("change", chooseSite);
  pickHead.addEventListener("change", draw);
  fill(pickSite, examples[0].sites.map((s) => s.name), examples[0].sites.length - 1);
  chooseSite();
})();
