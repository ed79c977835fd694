// Notifications of the browser: offered in a line above the message, and shown while the tab is hidden.

import { make, makeButton } from "./dom.js";
import { Choices } from "./storage.js";
import { loadStyles } from "./styles.js";

const CHOICE = "notifications";
let line = null;
let shown = null;

/** Offer notifications before `place`, unless the person has chosen or the browser forbids them. */
export async function offer(person, place, { onPress }) {
  const choices = new Choices(person);
  if (line || !window.Notification || Notification.permission === "denied" || choices.get(CHOICE)) return;
  const choose = async (isWanted) => {
    withdraw();
    onPress();
    const isAllowed = isWanted && (await Notification.requestPermission()) === "granted";
    choices.set(CHOICE, isAllowed ? "yes" : "no");
  };
  line = make("div", "tell-me");
  line.setAttribute("role", "group");
  line.setAttribute("aria-label", "Notifications");
  line.append(
    makeButton("plain", "Tell me when it is ready", () => choose(true)),
    makeButton("plain", "No, thanks", () => choose(false)),
  );
  await loadStyles("later");
  if (line) place.before(line);
}

/** Remove the offer: nothing is awaited any more. */
export function withdraw() {
  line?.remove();
  line = null;
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
