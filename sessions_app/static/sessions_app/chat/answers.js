// Forms of questions: choices, credentials, fields of confirmations; and withdrawals of what a person has allowed.

import { moveFocus, setEnabled } from "./dom.js";
import { loadStyles } from "./styles.js";

await loadStyles("later");

export class Answers {
  /**
   * @param onAnswer - Send {call_id, name, response}; return true when it was sent.
   * @param onWithdraw - Send {agent, tool} of an allowance to withdraw; return true when it was sent.
   */
  constructor(conversation, { onAnswer, onWithdraw }) {
    const { log } = conversation;
    this.conversation = conversation;
    log.addEventListener("submit", (event) => {
      const form = event.target;
      if (!form.dataset.name) return;
      event.preventDefault();
      const { callId: call_id, name } = form.dataset;
      if (!onAnswer({ call_id, name, response: readResponse(form, event.submitter) })) return;
      form.reset(); // a secret does not stay on the page
      moveFocus(form);
      setEnabled(form, false);
    });
    log.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-ask-again]");
      if (!button) return;
      const request = button.closest(".question");
      const { agent, tool } = request.dataset;
      button.disabled = onWithdraw({ agent, tool });
      moveFocus(request);
    });
  }

  /** Hide the buttons of allowances that were withdrawn later. Call this when the log has changed. */
  update() {
    const withdrawals = this.conversation.findAll("[data-withdraws]").map((mark) => [mark.dataset.withdraws, seqOf(mark)]);
    for (const button of this.conversation.findAll("[data-ask-again]")) {
      const { agent, tool } = button.closest(".question")?.dataset ?? {};
      const given = Number(button.closest("[data-seq]").dataset.seq);
      button.hidden = !agent || withdrawals.some(([name, seq]) => name === `${agent} ${tool}` && seq > given);
    }
  }
}

/** Return true when the fields of the request are valid; otherwise the browser says what is missing. */
export function hasValidFields(request) {
  return [...request.querySelectorAll("input")].every((input) => input.reportValidity());
}

/** Return the values of the request's fields; a field without a name is the whole payload. */
export function readPayload(request) {
  const values = [...request.querySelectorAll("input")].map((input) => [input.name, readInput(input)]);
  return values.length === 1 && !values[0][0] ? values[0][1] : Object.fromEntries(values);
}

function readInput(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.type === "number") return input.valueAsNumber;
  return input.type === "hidden" ? JSON.parse(input.value) : input.value;
}

// The value of a pressed button is JSON. The names of fields are dotted paths in the response.
function readResponse(form, button) {
  if (button.name) return { [button.name]: JSON.parse(button.value) };
  const response = {};
  for (const [path, value] of new FormData(form)) {
    const names = path.split(".");
    const last = names.pop();
    names.reduce((parent, name) => (parent[name] ??= {}), response)[last] = value;
  }
  return response;
}

function seqOf(element) {
  return Number(element.closest("article").dataset.seq);
}
