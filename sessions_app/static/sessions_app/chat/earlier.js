// Loading of older events when the user scrolls to the top or presses the button.

import { t } from "./language.js";
import { readLogPage } from "./log_pages.js";

export class EarlierPages {
  #loading = null; // promise of the page that is being loaded

  /** @param onLoaded - Callback with the invocations of each loaded page. */
  constructor(button, { conversation, scroll, url, onLoaded }) {
    this.button = button;
    this.conversation = conversation;
    this.scroll = scroll;
    this.url = url;
    this.onLoaded = onLoaded;
    this.observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && this.load(),
      { rootMargin: "300px 0px 0px" },
    );
    this.observer.observe(button);
    button.addEventListener("click", () => this.load());
  }

  /** Load one more page. The promise resolves to true when a page was loaded. */
  load() {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load() {
    if (this.button.hidden) return false;
    this.button.textContent = t("Loading…");
    try {
      this.#show(await readLogPage(this.url, this.conversation.firstSeq));
      this.button.textContent = t("Show earlier messages");
      return true;
    } catch {
      this.button.textContent = t("Could not load earlier messages. Try again");
      return false;
    }
  }

  #show({ fragment, invocations, hasMore }) {
    this.scroll.keepPlace(this.conversation.log.querySelectorAll("article"), () => {
      this.conversation.prepend(fragment);
      this.button.hidden = !hasMore;
      this.onLoaded(invocations);
    });
    // Observing again reports immediately if the button is still in view.
    this.observer.unobserve(this.button);
    this.observer.observe(this.button);
  }
}
