// Cards of function calls: each shows its function responses, wherever these are in the log.

import { list, t } from "./language.js";
import { formatDuration } from "./times.js";

const UNFINISHED = {
  declined: t("Not done"),
  cancelled: t("Cancelled"),
  interrupted: t("Interrupted; it may have had effects"),
};

const STATES = { succeeded: "ok", failed: "failed", cancelled: "cancelled" }; // of a call, by the status of its job

/** Move function responses into the cards of their calls; both may be in any of the roots. */
export function placeResponses(...roots) {
  const findAll = (selector) => [...new Set(roots.flatMap((root) => [...root.querySelectorAll(selector)]))];
  const cards = new Map(findAll(".tool[data-call-id]").map((card) => [card.dataset.callId, card]));
  const answers = answersById(findAll);
  // A call that waits for approval, or was rejected, does not run.
  for (const [id, answer] of answers) cards.get(id)?.toggleAttribute("data-asks", answer?.verdict !== "yes");
  for (const response of findAll(".lone-result")) {
    const card = cards.get(response.dataset.responseTo);
    if (card) placeResponse(card, response, answers);
  }
}

// For calls that ask for approval, return the data of the answer by call id; undefined before it.
function answersById(findAll) {
  const verdicts = new Map(findAll(".verdict[data-answers]").map(({ dataset }) => [dataset.answers, dataset]));
  return new Map(
    findAll(".question[data-asks-for]").map(({ dataset }) => [dataset.asksFor, verdicts.get(dataset.callId)]),
  );
}

/** Remove the responses of rewound events, from seq `first` on, from the cards of earlier calls. */
export function removeResponsesFrom(log, first) {
  for (const result of log.querySelectorAll(".results > .result")) {
    if (result.dataset.seq < first) continue;
    const card = result.closest(".tool");
    result.remove();
    if ("job" in card.dataset) continue;
    card.dataset.state = "open";
    card.querySelector(".tool-outcome").textContent = "";
  }
}

/** Show the status of the job in the line of its call. `html` has the job's card, which goes to or is in the place. */
export function showJob(place, html) {
  const job = html.querySelector(".job");
  const head = job?.querySelector(".job-head");
  if (!head) return;
  const call = place.previousElementSibling;
  call.dataset.job = job.dataset.status;
  call.dataset.state = STATES[job.dataset.status] ?? "open";
  call.querySelector(".tool-outcome").replaceChildren(...head.querySelector(".job-facts").childNodes);
  head.remove();
}

function placeResponse(card, response, answers) {
  const article = response.closest("article");
  const result = response.querySelector(".result");
  result.dataset.seq = article.dataset.seq;
  const results = card.querySelector(".results");
  results.append(result);
  results.append(...[...results.children].sort((a, b) => a.dataset.seq - b.dataset.seq));
  response.remove();
  article.hidden = article.childElementCount === 0;
  if ("job" in card.dataset) return; // a job has times and an outcome of its own
  // The first response of a long-running call says only that the call has started.
  if ("longRunning" in card.dataset && response.dataset.state === "ok" && results.childElementCount === 1) return;
  card.toggleAttribute("data-allowed", "allowed" in response.dataset);
  // The duration begins with the approval.
  const begun = answers.get(card.dataset.callId)?.time ?? card.closest("article").dataset.time;
  showEnd(card, response.dataset.state, Number(response.dataset.seconds ?? article.dataset.time - begun));
}

/** Show that a call has ended, and its duration. */
export function showEnd(card, state, seconds) {
  card.dataset.state = state;
  card.querySelector(".tool-outcome").textContent = describeOutcome(card, seconds);
}

function describeOutcome(card, seconds) {
  if (card.dataset.state in UNFINISHED) return UNFINISHED[card.dataset.state];
  const short = "precise" in card.dataset ? t("{count} ms", { count: Math.round(seconds * 1000) }) : "";
  const took = seconds < 1 ? short : formatDuration(Math.round(seconds));
  const allowed = "allowed" in card.dataset ? t("Allowed earlier") : "";
  return list([allowed, card.dataset.state === "failed" ? t("Failed") : "", took]);
}
