// A function call and its result are one card, wherever in the log the result came.

import { duration } from "./times.js";

/** Moves results into the cards of their calls, looking in all the roots for both. */
export function pairResults(...roots) {
  const all = (selector) => new Set(roots.flatMap((root) => [...root.querySelectorAll(selector)]));
  const cards = new Map([...all(".tool[data-call-id]")].map((card) => [card.dataset.callId, card]));
  for (const lone of all(".lone-result")) {
    const card = cards.get(lone.dataset.responseTo);
    if (card) pair(card, lone);
  }
}

/** Events from a number on do not count any more: their results leave the cards of earlier calls. */
export function takeResultsOut(log, first) {
  for (const result of log.querySelectorAll(".results > .result")) {
    if (result.dataset.seq < first) continue;
    const card = result.closest(".tool");
    result.remove();
    card.dataset.state = "open";
    card.querySelector(".tool-outcome").textContent = "";
  }
}

function pair(card, lone) {
  const article = lone.closest("article");
  const result = lone.querySelector(".result");
  result.dataset.seq = article.dataset.seq;
  const results = card.querySelector(".results");
  results.append(result);
  results.append(...[...results.children].sort((one, other) => one.dataset.seq - other.dataset.seq));
  lone.remove();
  article.hidden = article.childElementCount === 0;
  // The first result of a long-running call says that it has begun.
  if ("longRunning" in card.dataset && lone.dataset.state === "ok" && results.childElementCount === 1) return;
  card.dataset.state = lone.dataset.state;
  card.querySelector(".tool-outcome").textContent = outcome(card, article);
}

function outcome(card, article) {
  const seconds = article.dataset.time - card.closest("article").dataset.time;
  const took = seconds < 1 ? `${Math.round(seconds * 1000)} ms` : duration(Math.round(seconds));
  return card.dataset.state === "failed" ? `Failed, ${took}` : took;
}
