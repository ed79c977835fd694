// List of the person's chats: search, further pages, and changes.

import { plural } from "./language.js";
import { load } from "./parts.js";
import { readPart } from "./requests.js";
import { showLocalTimes } from "./times.js";

const NEWS_DELAY = 300;
const SEARCH_DELAY = 200;
const IN_USE_DELAY = 1000;

export class Chats {
  #timer = 0;
  #request = 0;
  #query = "";
  #isLoadingMore = false;
  #shown = null; // the list as it was read; null when this page may show another one
  #menu = null;

  /**
   * @param currentId - Id of the chat that the page shows, if it shows one.
   * @param onTitle - Callback with the title of that chat whenever the list was read.
   */
  constructor(root, { currentId = "", onTitle = (_title) => {} } = {}) {
    this.root = root;
    this.currentId = currentId;
    this.onTitle = onTitle;
    this.body = root.querySelector(".chats-body");
    this.search = root.querySelector(".search");
    this.status = root.querySelector("[role=status]");
    this.search.addEventListener("input", () => this.#schedule(SEARCH_DELAY));
    root.addEventListener("click", (event) => {
      if (event.target.closest(".item-menu")) this.#openMenu(event.target.closest(".chat").dataset.id);
      if (!event.target.closest(".more-chats")) return;
      event.preventDefault();
      this.#loadMore(event.target);
    });
    root.addEventListener("change", () => this.#handleChange()); // the palette has made a change
    document.addEventListener("visibilitychange", () => this.refresh());
    this.#decorate();
  }

  /** Read the list again after `delay` ms; a hidden page, when it is shown. */
  refresh(delay = NEWS_DELAY) {
    if (!document.hidden) this.#schedule(delay);
  }

  // A read on its way was asked for before this page changed a chat: its list is out of date.
  #handleChange() {
    this.#request += 1;
    this.#shown = null;
    this.refresh();
  }

  #schedule(delay) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#load(), delay);
  }

  // A pressed entry that is replaced gets no click. A read of the list would replace that of a further page.
  get #isInUse() {
    return this.#isLoadingMore || this.#menu?.isInUse || this.root.matches(":active, :has(.rename)");
  }

  // The list may have been read again while the menu was loaded.
  async #openMenu(id) {
    const { ChatMenu } = await load(() => import("./menu.js"));
    this.#menu ??= new ChatMenu(this.root, { onChange: () => this.#handleChange() });
    const button = this.root.querySelector(`[data-id="${id}"] .item-menu`);
    if (button) this.#menu.open(button);
  }

  async #load() {
    const query = this.search.value.trim();
    const rows = this.body.querySelectorAll(".chat:not([data-pinned])").length; // of all open pages
    const fresh = !this.#isInUse && (await this.#read(query ? { q: query } : { rows }));
    if (this.#isInUse) {
      this.#schedule(IN_USE_DELAY);
      return;
    }
    if (!fresh) return;
    if (query !== this.#query) this.#announce(query, fresh);
    this.#query = query;
    // Most news change nothing here. A list that stays keeps the place of a screen reader and what is marked.
    if (this.#shown?.isEqualNode(fresh)) return;
    this.#shown = fresh.cloneNode(true);
    const focused = document.activeElement?.closest?.(".chat")?.dataset.id;
    const focusedTag = document.activeElement?.tagName;
    this.#showCount(fresh.querySelector("[data-asked]")?.dataset.asked);
    this.body.replaceChildren(fresh);
    this.#decorate();
    if (focused) this.body.querySelector(`[data-id="${focused}"] ${focusedTag}`)?.focus();
  }

  async #loadMore(link) {
    const cursor = new URL(link.getAttribute("href"), location.href).searchParams.get("before");
    this.#isLoadingMore = true;
    const page = await this.#read({ before: cursor });
    this.#isLoadingMore = false;
    if (!page) return;
    const first = page.querySelector(".chat a");
    link.remove();
    this.#append(page);
    this.#decorate();
    first?.focus();
  }

  #append(page) {
    page.querySelector(".no-chats")?.remove();
    const shown = [...this.body.querySelectorAll(".group")].at(-1);
    const added = page.querySelector(".group");
    if (shown && shown.textContent === added?.textContent) added.remove(); // the page begins within a group
    this.body.querySelector(".chats").append(...page.querySelectorAll(".chats > li"));
    this.body.append(page);
    this.body.querySelector(".chats ~ .chats")?.remove();
  }

  // Return a part of the list; null when offline or signed out, and when a later request was made.
  async #read(parameters) {
    this.#request += 1;
    const request = this.#request;
    if ("archived" in this.root.dataset) parameters.archived = "1";
    const part = await readPart(`${this.root.dataset.url}?${new URLSearchParams(parameters)}`).catch(() => null);
    return request === this.#request ? part : null;
  }

  #announce(query, fresh) {
    const count = fresh.querySelectorAll(".chat").length;
    this.status.textContent = query ? plural("{count} chat found", "{count} chats found", count) : "";
  }

  // Show the number of questions to the person at the links to the activity. The results of a search come without it.
  #showCount(asked) {
    if (asked === undefined) return;
    const number = Number(asked);
    for (const count of document.querySelectorAll(".count")) {
      if (number > Number(count.firstChild.textContent)) {
        this.status.textContent = plural("{count} question waits for you", "{count} questions wait for you", number);
      }
      count.firstChild.textContent = asked;
      count.hidden = asked === "0";
    }
  }

  #decorate() {
    const current = this.body.querySelector(`[data-id="${this.currentId}"] a`);
    current?.setAttribute("aria-current", "page");
    if (current) this.onTitle(current.querySelector(".item-title").textContent);
    showLocalTimes(this.body);
  }
}
