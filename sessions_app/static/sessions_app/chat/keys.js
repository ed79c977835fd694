// Page of the API keys: times of the person's zone, and the button that copies a new key.

import { t } from "./language.js";
import { showLocalTimes } from "./times.js";

showLocalTimes(document);
const made = document.querySelector("[data-made]");
made?.querySelector("h2").focus();
made?.querySelector("[data-copy]").addEventListener("click", copyKey);

// Browsers have a clipboard on HTTPS only; elsewhere the key is selected.
async function copyKey() {
  const field = made.querySelector("input");
  const status = made.querySelector("[role=status]");
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    status.textContent = t("Copied");
  } catch {
    status.textContent = t("The key is selected. Copy it.");
  }
}
