// Dialog about the link of a chat: make it, copy it, revoke it. The server renders what it shows.

import { make, parse } from "./dom.js";
import { t } from "./language.js";
import { addressOf, post } from "./posts.js";
import { showLocalTimes } from "./times.js";

const FAILED = t("This did not work. Reload the page and try again.");

/** Show the dialog about the link of the chat `id`; `onChange` is called when the chat is shared or not any more. */
export async function showSharing(id, onChange) {
  const url = addressOf(`chat/${id}/share/`);
  const dialog = make("dialog", "palette sharing");
  dialog.setAttribute("aria-labelledby", "sharing-title");
  const actions = {
    share: () => show(dialog, post(url)).then(onChange),
    revoke: () => show(dialog, post(`${url}revoke/`)).then(onChange),
    copy: () => copyLink(dialog),
    close: () => dialog.close(),
  };
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) return dialog.close();
    const name = Object.keys(actions).find((action) => action in target.dataset);
    if (!name) return;
    dialog.querySelector("[role=alert]")?.remove();
    Promise.resolve(actions[name]()).catch((error) => report(dialog, error.message));
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    document.querySelector(`.chat[data-id="${id}"] .item-menu`)?.focus(); // the list may have been read again
  });
  await show(dialog, fetch(url));
  document.body.append(dialog);
  dialog.showModal();
}

async function show(dialog, request) {
  const response = await request.catch(() => null);
  if (!response?.ok || response.redirected) throw new Error(FAILED);
  dialog.replaceChildren(parse(await response.text()));
  showLocalTimes(dialog);
  dialog.querySelector("input")?.select();
  dialog.querySelector("button").focus();
}

function report(dialog, text) {
  const message = make("p", "error", text);
  message.setAttribute("role", "alert");
  dialog.append(message);
}

// Browsers have a clipboard on HTTPS only, and may refuse it; then the link stays selected.
async function copyLink(dialog) {
  const field = dialog.querySelector("input");
  try {
    await navigator.clipboard.writeText(field.value);
    dialog.querySelector("[data-copy]").textContent = t("Copied");
  } catch {
    field.select();
    throw new Error(t("The link is selected. Copy it."));
  }
}
