// Page of the settings: times of the person's zone, and the choice of notifications, which only the browser knows.

import { t } from "./language.js";
import { NotificationChoice } from "./notifications.js";
import { forgetOnSignOut } from "./storage.js";
import { showLocalTimes } from "./times.js";

const section = document.getElementById("notifications");
const box = section.querySelector("input");
const choice = new NotificationChoice(section.dataset.person);

function show() {
  box.checked = choice.isWanted;
  box.disabled = !choice.isPossible;
  section.querySelector("[role=status]").textContent = problem();
}

function problem() {
  if (!window.Notification) return t("This browser shows no notifications.");
  if (choice.isPossible) return "";
  return t("This browser forbids notifications of this site. Allow them in the settings of the browser.");
}

box.addEventListener("change", async () => {
  await choice.choose(box.checked);
  show();
});
show();
showLocalTimes(document);
forgetOnSignOut();
