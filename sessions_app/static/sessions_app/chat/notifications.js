// Notifications of the browser, shown while the tab is hidden to a person who wants them.

import { ChatStorage } from "./storage.js";

const CHOICE_PREFIX = "choice:";
const CHOICE = "notifications";
let shown = null;

/** Choices of a person, by the person's id. They outlive the sign-out, so that nobody is asked again. */
class Choices extends ChatStorage {
  constructor(person) {
    super({ person, session: "" }, localStorage);
    this.prefix = `${CHOICE_PREFIX}${person}:`;
  }
}

/** True when the person can still be asked: there is no choice yet, and the browser does not forbid notifications. */
export function isUndecided(person) {
  return Boolean(window.Notification) && Notification.permission !== "denied" && !new Choices(person).get(CHOICE);
}

/** Store the person's choice; the browser asks for its permission. */
export async function choose(person, isWanted) {
  const isAllowed = isWanted && (await Notification.requestPermission()) === "granted";
  new Choices(person).set(CHOICE, isAllowed ? "yes" : "no");
}

/** Show what has happened in the chat with this title, if the person wants to be told. A click shows the tab. */
export function notify(person, what, title) {
  if (!window.Notification || Notification.permission !== "granted" || new Choices(person).get(CHOICE) !== "yes") return;
  try {
    shown?.close();
    shown = new Notification(what, { body: title, tag: location.pathname });
  } catch (error) {
    console.warn("The browser shows no notifications of pages:", error); // Chrome on Android
    return;
  }
  shown.onclick = () => window.focus();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  shown?.close();
  shown = null;
});
