// Sorting, filters, zoom and the colour scheme. Without this script the page shows everything, unsorted.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);

  // Colours: what the system says, or what the reader chose.
  const schemes = ["automatic", "light", "dark"];
  const toggle = one("#scheme");
  const remembered = () => {
    try { return localStorage.getItem("tallsbi-scheme"); } catch { return null; } // refused for some local files
  };
  const useScheme = (scheme) => {
    if (scheme === "automatic") delete document.documentElement.dataset.scheme;
    else document.documentElement.dataset.scheme = scheme;
    toggle.textContent = `Colours: ${scheme}`;
    toggle.dataset.scheme = scheme;
    try { localStorage.setItem("tallsbi-scheme", scheme); } catch { /* then only for this visit */ }
  };
  useScheme(schemes.includes(remembered()) ? remembered() : "automatic");
  toggle.addEventListener("click", () =>
    useScheme(schemes[(schemes.indexOf(toggle.dataset.scheme) + 1) % schemes.length]));
  toggle.hidden = false;

  // Sorting: by the number a cell begins with, else by its text; cells without a value stay last.
  const numberOf = (text) => {
    const match = /^[-+−]?\d[\d,]*\.?\d*(e[-+]?\d+)?/i.exec(text);
    return match ? Number(match[0].replace("−", "-").replaceAll(",", "")) : null;
  };
  const EMPTY = ["", "–", "lost", "invalid", "nan"];
  const order = (a, b) => {
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== null && y !== null) return x - y;
    return a.localeCompare(b, "en", { numeric: true });
  };
  const sortBy = (table, column) => {
    const header = all("thead th", table)[column];
    const direction = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    all("thead th", table).forEach((th) => th.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const keyed = all("tbody tr", table).map((row) => [row.cells[column].textContent.trim(), row]);
    keyed.sort(([a], [b]) => {
      const [x, y] = [EMPTY.includes(a), EMPTY.includes(b)];
      return x || y ? x - y : sign * order(a, b);
    });
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  };
  all("table.sortable").forEach((table) => all("thead th", table).forEach((th, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    button.addEventListener("click", () => sortBy(table, column));
    th.replaceChildren(button);
    th.setAttribute("aria-sort", "none");
  }));

  // Filters of the claims.
  const filters = one("#claim-filters");
  if (filters) {
    const claims = all(".claim");
    const apply = () => {
      const data = new FormData(filters);
      const verdicts = data.getAll("verdict");
      const section = data.get("section");
      const words = data.get("words").toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      claims.forEach((claim) => {
        const text = claim.textContent.toLowerCase();
        const fits = verdicts.includes(claim.dataset.verdict)
          && (!section || claim.dataset.section === section)
          && words.every((word) => text.includes(word));
        claim.hidden = !fits;
        shown += fits;
      });
      const fold = one("#undecided");
      const among = fold ? all(".claim:not([hidden])", fold).length : 0;
      if (fold) {
        fold.hidden = among === 0;
        if (shown < claims.length && among > 0) fold.open = true; // so that the claims searched for can be seen
      }
      one("#claim-count").textContent = shown === claims.length
        ? `${shown} claims` : `${shown} of ${claims.length} claims`;
    };
    filters.addEventListener("input", apply);
    filters.addEventListener("reset", () => setTimeout(apply)); // after the fields have their old values
    filters.addEventListener("submit", (event) => event.preventDefault());
    filters.hidden = false;
    apply(); // the browser may have kept what was chosen before
  }

  // Zoom.
  const dialog = one("#zoom");
  const image = one("img", dialog);
  const size = one("#zoom-size");
  const fullSize = (on) => {
    dialog.classList.toggle("full", on);
    size.setAttribute("aria-pressed", String(on));
  };
  all("button.picture").forEach((button) => button.addEventListener("click", () => {
    const picture = one("img", button);
    image.src = picture.src;
    image.alt = picture.alt;
    image.style.setProperty("--natural", `${picture.getAttribute("width")}px`); // a drawing has no pixels of its own
    image.hidden = false;
    one("#zoom-title").textContent = button.dataset.title;
    fullSize(innerWidth < 700); // fitted to a phone, the labels of a figure cannot be read
    dialog.showModal();
  }));
  size.addEventListener("click", () => fullSize(!dialog.classList.contains("full")));
  one("#zoom-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  // On a narrow screen the contents start closed; on paper everything is open.
  const contents = one("nav details");
  if (matchMedia("(max-width: 60rem)").matches) contents.open = false;
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("main details:not([open])");
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
})();
