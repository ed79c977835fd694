// Short message at the edge of the page, with an optional button to undo what it tells.

import { make, makeButton } from "./dom.js";

const SHOWN_FOR = 10000;
const region = make("div", "toast");
region.setAttribute("role", "status");
document.body.append(region);
let timer = 0;

/** Show the message. With `onUndo` it has a button; `onOver` is called when the time to press the button is over. */
export function showToast(text, { onUndo, onOver } = {}) {
  clearTimeout(timer);
  region.replaceChildren(make("span", "", text));
  if (onUndo) {
    const undo = makeButton("plain", "Undo", () => {
      hide();
      onUndo();
    });
    region.append(undo);
    undo.focus();
  }
  timer = setTimeout(() => {
    hide();
    onOver?.();
  }, SHOWN_FOR);
}

function hide() {
  clearTimeout(timer);
  region.replaceChildren();
}
