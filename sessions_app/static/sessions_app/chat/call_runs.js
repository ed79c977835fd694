// Runs of finished function calls: four or more in a row fold to one line, such as "Used 12 tools".

import { make, makeButton } from "./dom.js";
import { list, plural } from "./language.js";

const ROWS = "article[data-seq]:not([hidden]), .outcome";
const CALLS = ".tool[data-call-id]";
const FOLDABLE = "button.run, details, .chips, .job-place:empty";

export class CallRuns {
  /**
   * @param minCalls - Number of calls from which a run is folded.
   * @param onOpen - Callback with the articles of a run that is opened.
   */
  constructor(conversation, { minCalls, onOpen }) {
    this.conversation = conversation;
    this.minCalls = minCalls;
    conversation.log.addEventListener("click", (event) => {
      const button = event.target.closest("button.run");
      if (button) this.#toggle(button.closest("article"), onOpen);
    });
  }

  /** Fold the runs of the log again. Call this when rows were added, changed or removed. */
  update() {
    const rows = this.conversation.findAll(ROWS);
    const runs = this.#find(rows);
    const folded = new Set(runs.flat());
    for (const row of rows) if (row.dataset.run && !folded.has(row)) clear(row);
    for (const run of runs) fold(run);
  }

  #toggle(first, onOpen) {
    const runs = this.#find(this.conversation.findAll(ROWS));
    const run = runs.find(([article]) => article === first);
    const isOpened = first.dataset.run !== "open";
    for (const article of run) article.dataset.run = isOpened ? "open" : "closed";
    fold(run);
    if (isOpened) onOpen(run);
  }

  #find(rows) {
    return groupRows(rows).filter((run) => countCalls(run, CALLS) >= this.minCalls);
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
  button.ariaExpanded = String(isOpen);
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

function countCalls(run, selector) {
  return run.reduce((count, article) => count + article.querySelectorAll(selector).length, 0);
}

function describe(run) {
  const failed = countCalls(run, `${CALLS}[data-state="failed"]`);
  const used = plural("Used {count} tool", "Used {count} tools", countCalls(run, CALLS));
  return list([used, failed && plural("{count} failed", "{count} failed", failed)]);
}
