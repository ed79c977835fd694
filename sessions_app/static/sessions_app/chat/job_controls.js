// Buttons of job cards: cancelling, answering, and progress that leaves the button in its place.

import { moveFocus, setEnabled } from "./dom.js";

/** Cancel the job of the button. */
export function cancel(button, onCancel) {
  onCancel(button.dataset.cancelJob);
  moveFocus(button.closest(".job"));
  button.disabled = true;
}

/** Send the answer to the question of a job. */
export function submit(form, submitter, onAnswer) {
  if (submitter.disabled) return;
  const { job: id, number, kind } = form.dataset;
  const value = kind === "text" ? form.elements.answer.value : submitter.value;
  const answer = kind === "confirm" ? value === "yes" : value;
  onAnswer({ id, number: Number(number), answer });
  moveFocus(form);
  setEnabled(form, false);
}

/**
 * Replace all of the card but the button, which may be pressed right now or have the focus, and its parents.
 *
 * @param line - Line of the card that has the button.
 * @param freshLine - That line of the new card.
 */
export function update(line, freshLine) {
  if (!line.isConnected) return; // replaced since
  const [button, freshButton] = [line, freshLine].map((one) => one.querySelector("button"));
  button.disabled = false;
  line.parentNode.dataset.status = freshLine.parentNode.dataset.status;
  replaceSiblings(button, freshButton);
  replaceSiblings(line, freshLine);
}

function replaceSiblings(kept, fresh) {
  for (const node of [...kept.parentNode.childNodes]) if (node !== kept) node.remove();
  const nodes = [...fresh.parentNode.childNodes];
  const place = nodes.indexOf(fresh);
  kept.before(...nodes.slice(0, place));
  kept.after(...nodes.slice(place + 1));
}
