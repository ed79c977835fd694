// Short messages at the edge of the page, each with an optional button that undoes a change.

import { make, makeButton, moveFocus } from "./dom.js";
import { t } from "./language.js";

const SHOWN_FOR = 10000;
const region = make("div", "toasts");
region.setAttribute("role", "status");
document.body.append(region);

/** Show a message. With `onUndo` it has a button; `onOver` is called when the time to press the button is over. */
export function showToast(text, { onUndo = null, onOver = null } = {}) {
  const toast = make("div", "toast");
  toast.append(make("span", "", text));
  const timer = setTimeout(() => {
    remove(toast);
    onOver?.();
  }, SHOWN_FOR);
  const undo = makeButton("plain", t("Undo"), () => {
    clearTimeout(timer);
    remove(toast);
    onUndo();
  });
  if (onUndo) toast.append(undo);
  region.append(toast);
  undo.focus();
}

// The focus of a removed button goes to the next one, or to where the page begins.
function remove(toast) {
  const hadFocus = toast.contains(document.activeElement);
  toast.remove();
  if (!hadFocus) return;
  const button = region.querySelector("button");
  if (button) button.focus();
  else moveFocus(document.querySelector("main"));
}
