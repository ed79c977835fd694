// Runs of finished function calls: four or more in a row fold to one line, such as "Used 12 tools".

import { make, makeButton } from "./dom.js";
import { list, plural } from "./language.js";

const CALLS = ".tool[data-call-id]";
const FOLDABLE = "button.run, details, .chips, .job-place:empty";

export class Runs {
  /**
   * @param shortest - Number of calls from which a run is folded.
   * @param onOpen - Callback with the articles of a run that is opened.
   */
  constructor(conversation, { shortest, onOpen }) {
    Object.assign(this, { conversation, shortest });
    conversation.log.addEventListener("click", (event) => {
      const button = event.target.closest("button.run");
      if (button) this.#toggle(button.closest("article"), onOpen);
    });
  }

  /** Fold the runs of the log anew. Call this when rows were added, changed or removed. */
  update() {
    const rows = this.conversation.findAll("article[data-seq]:not([hidden]), .outcome");
    const runs = this.#find(rows);
    const folded = new Set(runs.flat());
    rows.filter((row) => row.dataset.run && !folded.has(row)).forEach(clear);
    runs.forEach(fold);
  }

  #toggle(first, onOpen) {
    const rows = this.conversation.findAll("article[data-seq]:not([hidden]), .outcome");
    const run = this.#find(rows).find((one) => one[0] === first);
    const isOpened = first.dataset.run !== "open";
    for (const article of run) article.dataset.run = isOpened ? "open" : "closed";
    fold(run);
    if (isOpened) onOpen(run);
  }

  #find(rows) {
    return groupRows(rows).filter((run) => countCalls(run) >= this.shortest);
  }
}

function groupRows(rows) {
  const runs = [[]];
  for (const row of rows) {
    if (isFoldable(row)) runs.at(-1).push(row);
    else runs.push([]);
  }
  return runs;
}

// Rows that a person must see stay: questions, jobs, files, errors, and calls that have not ended.
function isFoldable(row) {
  if (!row.matches("article.quiet:not([data-error], [data-interrupted])")) return false;
  if (row.querySelector(`${CALLS}[data-state="open"]`)) return false;
  return [...row.children].every((part) => part.matches(FOLDABLE));
}

// A run stays open when calls are added to it.
function fold(run) {
  const [first, ...others] = run;
  const isOpen = run.some((article) => article.dataset.run === "open");
  const button = first.querySelector("button.run") ?? makeHead();
  button.ariaExpanded = isOpen;
  button.querySelector(".run-name").textContent = describe(run);
  if (button.parentElement !== first) first.prepend(button);
  for (const article of run) article.dataset.run = isOpen ? "open" : "closed";
  for (const article of others) article.querySelector("button.run")?.remove();
}

function clear(article) {
  delete article.dataset.run;
  article.querySelector("button.run")?.remove();
}

function makeHead() {
  const button = makeButton("plain wide run", "", () => {});
  button.append(make("span", "run-name"));
  return button;
}

function countCalls(run) {
  return run.reduce((count, article) => count + article.querySelectorAll(CALLS).length, 0);
}

function describe(run) {
  const failed = run.reduce((count, article) => count + article.querySelectorAll(`${CALLS}[data-state="failed"]`).length, 0);
  const used = plural("Used {count} tool", "Used {count} tools", countCalls(run));
  return list([used, failed && plural("{count} failed", "{count} failed", failed)]);
}
