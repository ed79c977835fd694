// Forms of questions: choices, credentials, fields of confirmations; and withdrawals of what a person has allowed.

import { moveFocus, setEnabled } from "./dom.js";

export class Answers {
  /**
   * @param onAnswer - Send {call_id, name, response} of a form.
   * @param onChoose - Send {call_id, option}, the number of an option, of a form.
   * @param onWithdraw - Send {agent, tool} of an allowance to withdraw.
   */
  constructor(conversation, { onAnswer, onChoose, onWithdraw }) {
    this.conversation = conversation;
    this.onAnswer = onAnswer;
    this.onChoose = onChoose;
    this.onWithdraw = onWithdraw;
  }

  /** Send the answer of the form, or the option of the button. */
  submit(form, submitter) {
    const { callId: call_id, name } = form.dataset;
    if (submitter.name) this.onChoose({ call_id, option: Number(submitter.value) }, form);
    else {
      const { value } = submitter; // of two buttons in place of a field
      this.onAnswer({ call_id, name, response: value ? { result: value === "yes" } : readResponse(form) }, form);
    }
    form.reset(); // a secret does not stay on the page
    moveFocus(form);
    setEnabled(form, false);
  }

  /** Withdraw the allowance of the button's tool. */
  withdraw(button) {
    const request = button.closest(".question");
    const { agent, tool } = request.dataset;
    this.onWithdraw({ agent, tool });
    button.disabled = true;
    moveFocus(request);
  }

  /** Hide the buttons of allowances that were withdrawn later. Call this when the log has changed. */
  update() {
    const withdrawals = this.conversation
      .findAll("[data-withdraws]")
      .map((mark) => [mark.dataset.withdraws, seqOf(mark)]);
    for (const button of this.conversation.findAll("[data-ask-again]")) {
      const { agent, tool } = button.closest(".question")?.dataset ?? {};
      const given = Number(button.closest("[data-seq]").dataset.seq);
      button.hidden = !agent || withdrawals.some(([name, seq]) => name === `${agent} ${tool}` && seq > given);
    }
  }
}

/** Answer the questions within `root` when their forms are sent, and cancel jobs when their buttons are pressed. */
export function listenForAnswers(root, { answers, jobs }) {
  root.addEventListener("submit", (event) => {
    event.preventDefault(); // the forms would close a dialog around them
    const { target, submitter } = event;
    if ("job" in target.dataset) jobs.submit(target, submitter);
    else if ("callId" in target.dataset) answers.submit(target, submitter);
  });
  root.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-cancel-job]");
    if (button) jobs.cancel(button);
  });
}

/** Return the values that the person has changed, by name; null when a field is invalid, which the browser tells. */
export function readChanges(request) {
  const fields = [...request.querySelectorAll("input, textarea")];
  if (!fields.every((field) => field.reportValidity())) return null;
  return Object.fromEntries(fields.filter(isChanged).map((field) => [field.name, readField(field)]));
}

function isChanged(field) {
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

function readField(field) {
  if (field.type === "checkbox") return field.checked;
  return field.type === "number" ? field.valueAsNumber : field.value;
}

// In the form of a credential the names of fields are dotted paths. Objects without a prototype take every name.
function readResponse(form) {
  const response = Object.create(null);
  for (const field of form.querySelectorAll("[name]:is(input, textarea)")) {
    if ("optional" in field.dataset && !field.value) continue;
    const names = "paths" in form.dataset ? field.name.split(".") : [field.name];
    const last = names.pop();
    names.reduce((parent, name) => (parent[name] ??= Object.create(null)), response)[last] = readField(field);
  }
  return response;
}

function seqOf(element) {
  return Number(element.closest("article").dataset.seq);
}
