// Calls that run only if the person says yes. The first answer counts, in whatever tab it was given.

/** Moves verdicts under their questions and hides the buttons. */
export function settleQuestions(...roots) {
  for (const root of roots) {
    for (const verdict of root.querySelectorAll(".verdict[data-answers]")) {
      const question = findQuestion(verdict.dataset.answers, ...roots);
      if (!question || question.contains(verdict)) continue;
      const article = verdict.closest("article");
      verdict.dataset.seq = article.dataset.seq;
      question.append(verdict);
      question.querySelector(".choices").hidden = true;
      question.dataset.verdict = verdict.dataset.verdict;
      article.hidden = article.querySelector(":scope > :not(header)") === null;
    }
  }
}

/** Events from a number on do not count any more: questions that were answered there are open again. */
export function reopenQuestions(log, first) {
  for (const verdict of log.querySelectorAll(".question > .verdict")) {
    if (verdict.dataset.seq < first) continue;
    const question = verdict.closest(".question");
    verdict.remove();
    delete question.dataset.verdict;
    question.querySelector(".choices").hidden = false;
    allowAnswer(question, true);
  }
}

/** Calls `onAnswer(callId, isYes)` when a button is pressed; the buttons wait for what the server says. */
export function listenForAnswers(log, onAnswer) {
  log.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-confirm]");
    if (!button) return;
    const question = button.closest(".question");
    const isSent = onAnswer(question.dataset.callId, button.dataset.confirm === "yes");
    if (isSent) allowAnswer(question, false);
  });
}

/** The server refused an answer: it may be given again. */
export function allowAnswers(log) {
  for (const question of log.querySelectorAll(".question")) allowAnswer(question, true);
}

/** Whether the question's buttons can be pressed. */
export function allowAnswer(question, isAllowed) {
  for (const button of question.querySelectorAll("button")) button.disabled = !isAllowed;
}

function findQuestion(callId, ...roots) {
  const selector = `.question[data-call-id="${CSS.escape(callId)}"]`;
  return roots.map((root) => root.querySelector(selector)).find(Boolean);
}
