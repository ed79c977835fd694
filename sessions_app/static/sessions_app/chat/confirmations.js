// Confirmation requests: calls that run only after a yes. The first answer counts, whichever tab sent it.

import { readChanges } from "./answers.js";
import { moveFocus, setEnabled } from "./dom.js";

/** Move confirmations below their requests and hide the buttons. */
export function placeConfirmations(...roots) {
  for (const root of roots) {
    for (const confirmation of root.querySelectorAll(".verdict[data-answers]")) {
      const request = findRequest(confirmation.dataset.answers, ...roots);
      if (!request || request.contains(confirmation)) continue;
      const article = confirmation.closest("article");
      confirmation.dataset.seq = article.dataset.seq;
      request.append(confirmation);
      request.querySelector(".choices").hidden = true;
      request.dataset.verdict = confirmation.dataset.verdict;
      article.hidden = article.querySelector(":scope > :not(header)") === null;
    }
  }
}

/** Reopen the requests whose confirmations are in rewound events, from seq `first` on. */
export function reopenConfirmations(log, first) {
  for (const confirmation of log.querySelectorAll(".question > .verdict")) {
    if (confirmation.dataset.seq < first) continue;
    const request = confirmation.closest(".question");
    confirmation.remove();
    delete request.dataset.verdict;
    request.querySelector(".choices").hidden = false;
    setEnabled(request, true);
  }
}

/** Call `onAnswer` with the fields of the frame and the request for each pressed button; disable the buttons until the server replies. */
export function listenForConfirmations(log, onAnswer) {
  log.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-confirm]");
    if (!button) return;
    const request = button.closest(".question");
    const { confirm } = button.dataset;
    const answer = { call_id: request.dataset.callId, confirmed: confirm !== "no" };
    if (confirm === "session") answer.for_session = true;
    if (answer.confirmed) answer.changes = readChanges(request);
    if (answer.changes === null) return;
    onAnswer(answer, request);
    moveFocus(request);
    setEnabled(request, false);
  });
}

/** Enable all requests again after the server refused an answer. */
export function enableConfirmations(conversation) {
  for (const request of conversation.findAll(".question")) setEnabled(request, true);
}

function findRequest(callId, ...roots) {
  const selector = `.question[data-call-id="${CSS.escape(callId)}"]`;
  return roots.map((root) => root.querySelector(selector)).find(Boolean);
}
