// Causes of errors, for developers and staff: a folded element below each error, which is filled when it is opened.

import { make } from "./dom.js";
import { t } from "./language.js";
import { page } from "./main.js";
import { readPart } from "./requests.js";

const { conversation, url } = page;

// Live events, older pages and other versions come at any time.
new MutationObserver(addCauses).observe(conversation.log, { childList: true, subtree: true });
addCauses();

function addCauses() {
  const errors = conversation.log.querySelectorAll("article[data-error] > .error:not(:has(+ .cause))");
  for (const error of errors) error.after(makeCause(error.parentElement.dataset.seq));
}

function makeCause(seq) {
  const cause = make("details", "cause muted");
  const place = make("div", "");
  cause.append(make("summary", "", t("Cause of the error")), place);
  // Read at each opening: the cause is stored after the event, and a retry replaces it.
  cause.addEventListener("toggle", async () => {
    if (!cause.open) return;
    const text = await readPart(`${url}${seq}/cause/`).catch(() => t("There is no connection. Try again."));
    place.replaceChildren(text);
  });
  return cause;
}
