// Notifications of the browser, shown while the tab is hidden to a person who wants them.

import { make, makeButton } from "./dom.js";
import { t } from "./language.js";
import { ChatStorage } from "./storage.js";

const CHOICE_PREFIX = "choice:";
const CHOICE = "notifications";

/** Choice of a person in this browser. It outlives the sign-out, so nobody is asked twice. */
export class NotificationChoice extends ChatStorage {
  /** @param person - Id of the person. */
  constructor(person) {
    super({ person, session: "" }, localStorage);
    this.prefix = `${CHOICE_PREFIX}${person}:`;
  }

  /** True if the person wants notifications and the browser shows them. */
  get isWanted() {
    return this.get(CHOICE) === "yes" && window.Notification?.permission === "granted";
  }

  /** True while the person can choose and has not. */
  get isOpen() {
    return this.isPossible && !this.get(CHOICE);
  }

  /** True unless the browser has no notifications, or forbids those of this site. */
  get isPossible() {
    return window.Notification && Notification.permission !== "denied";
  }

  /** Keep the choice. For a yes the browser asks for its permission. */
  async choose(isWanted) {
    const isAllowed = isWanted && (await Notification.requestPermission()) === "granted";
    this.set(CHOICE, isAllowed ? "yes" : "no");
  }
}

export class Notifications {
  #shown = null;
  #offer = null;

  /**
   * @param person - Id of the person.
   * @param place - Element before which the person is asked.
   * @param onPress - Callback when an answer was pressed, and has disappeared.
   */
  constructor(person, place, { onPress }) {
    this.place = place;
    this.onPress = onPress;
    this.choice = new NotificationChoice(person);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#close();
    });
  }

  /** Offer notifications, unless the person has chosen already or the browser forbids them. */
  offer() {
    if (this.#offer || !this.choice.isOpen) return;
    this.#offer = make("div", "tell-me");
    this.#offer.setAttribute("role", "group");
    this.#offer.setAttribute("aria-label", t("Notifications"));
    this.#offer.append(
      makeButton("plain", t("Tell me when it is ready"), () => this.#choose(true)),
      makeButton("plain", t("No, thanks"), () => this.#choose(false)),
    );
    this.place.before(this.#offer);
  }

  /** Remove the offer: nothing is awaited any more. */
  withdrawOffer() {
    this.#offer?.remove();
    this.#offer = null;
  }

  /** Show what has happened in the chat with this title, if the person wants to know. A click shows the tab. */
  show(what, title) {
    if (!this.choice.isWanted) return;
    try {
      this.#close();
      this.#shown = new Notification(what, { body: title, tag: location.pathname });
      this.#shown.onclick = () => window.focus();
    } catch (error) {
      console.warn("The browser shows no notifications of pages:", error); // Chrome on Android
    }
  }

  #choose(isWanted) {
    this.withdrawOffer();
    this.onPress();
    this.choice.choose(isWanted);
  }

  #close() {
    this.#shown?.close();
    this.#shown = null;
  }
}
