// Palette: a dialog that finds chats, begins new ones and acts on the chat of the page, all by keyboard.

import { make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { t } from "./language.js";
import { remove, rename } from "./menu.js";
import { addressOf, changeChat } from "./posts.js";
import { readPart } from "./requests.js";
import { showLocalTimes } from "./times.js";
import { showToast } from "./toast.js";

const SEARCH_DELAY = 150;
const MAX_CHATS = 8;
const SHORTCUTS = [
  ["Ctrl+K", t("Search chats and actions")],
  ["?", t("Show the shortcuts")],
  ["Enter", t("Send the message")],
  ["Shift+Enter", t("Begin a new line")],
  ["Escape", t("Cancel editing, close a menu")],
];

class Palette {
  #timer = 0;
  #request = 0;
  #lastId = 0;
  #shownQuery = null; // of the options; null while some are missing

  constructor() {
    this.dialog = make("dialog", "palette");
    this.field = make("input", "search");
    this.options = make("div", "palette-options");
    this.dialog.setAttribute("aria-label", t("Search chats and actions"));
    Object.assign(this.field, { type: "search", placeholder: t("Search chats and actions"), maxLength: 200 });
    this.field.setAttribute("role", "combobox");
    this.field.setAttribute("aria-label", t("Search chats and actions"));
    this.field.setAttribute("aria-expanded", "true");
    this.field.setAttribute("aria-controls", "palette-options");
    this.options.id = "palette-options";
    this.options.setAttribute("role", "listbox");
    this.options.setAttribute("aria-label", t("Chats and actions"));
    this.field.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#fill(), SEARCH_DELAY);
    });
    this.field.addEventListener("keydown", (event) => this.#handleKey(event));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    document.body.append(this.dialog);
  }

  /** Open the palette with the text that was typed before. */
  open(text) {
    this.dialog.replaceChildren(this.field, this.options);
    this.field.value = text;
    if (!this.dialog.open) this.dialog.showModal();
    this.field.focus();
    this.#fill();
  }

  /** Show the list of keyboard shortcuts. */
  showShortcuts() {
    const list = make("dl", "shortcuts");
    for (const [keys, meaning] of SHORTCUTS) {
      const row = make("div", "");
      row.append(make("dt", "", keys), make("dd", "", meaning));
      list.append(row);
    }
    const close = makeButton("", t("Close"), () => this.dialog.close());
    this.dialog.replaceChildren(make("h2", "", t("Keyboard shortcuts")), list, close);
    if (!this.dialog.open) this.dialog.showModal();
  }

  get #selected() {
    return this.options.querySelector('[aria-selected="true"]');
  }

  #handleKey(event) {
    if (event.isComposing) return;
    if (event.key === "Enter") this.#choose();
    if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied
      this.dialog.close();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const options = [...this.options.querySelectorAll("[role=option]")];
    this.#select(options.at((options.indexOf(this.#selected) + step) % options.length));
  }

  // Typing may be ahead of the options.
  async #choose() {
    if (this.field.value.trim() !== this.#shownQuery) await this.#fill();
    if (this.dialog.open) this.#selected?.click();
  }

  async #fill() {
    clearTimeout(this.#timer);
    this.#request += 1;
    const request = this.#request;
    const query = this.field.value.trim();
    this.#shownQuery = null;
    const actions = this.#actions().filter(([label]) => label.toLowerCase().includes(query.toLowerCase()));
    this.#show(actions, t("Loading…"));
    const chats = await findChats(query).catch(() => null);
    if (request !== this.#request) return;
    if (!chats) return this.#show(actions, t("There is no connection. Try again."));
    this.#shownQuery = query;
    this.#show(query ? [...chats, ...actions] : [...actions, ...chats], t("Nothing found."));
  }

  // Show options: each has a label, an act, and an icon unless it is a chat. Without any, show the sentence.
  #show(options, sentence) {
    this.options.replaceChildren(...options.map((option) => this.#makeOption(...option)));
    if (!options.length) this.options.append(make("p", "muted", sentence));
    this.#select(this.options.querySelector("[role=option]"));
  }

  #makeOption(label, act, icon) {
    const option = make("div", "palette-option");
    this.#lastId += 1;
    if (icon) option.append(makeIcon(icon), label);
    else option.append(...label);
    option.id = `palette-option-${this.#lastId}`;
    option.dir = "auto";
    option.setAttribute("role", "option");
    option.addEventListener("click", async () => {
      this.dialog.close();
      await Promise.resolve(act()).catch((error) => showToast(error.message));
    });
    return option;
  }

  #select(option) {
    this.#selected?.removeAttribute("aria-selected");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.field.setAttribute("aria-activedescendant", option.id);
  }

  #actions() {
    const links = [...document.querySelectorAll(`a[href^="${addressOf("chat/new/")}"]`)];
    const pages = [...document.querySelectorAll(".account a")];
    const signOut = document.querySelector(".account form");
    const actions = [
      ...links.map((link) => [labelOfNewChat(link), () => location.assign(link.href), "add"]),
      ...actionsOnThisChat(),
      [t("Activity"), () => location.assign(addressOf("activity/")), "activity"],
      [t("All chats and agents"), () => location.assign(addressOf("")), "chats"],
      [t("Archived chats"), () => location.assign(addressOf("?archived=1")), "archive"],
      ...pages.map((page) => [page.textContent, () => location.assign(page.href), "settings"]),
      [t("Keyboard shortcuts"), () => this.showShortcuts(), "keyboard"],
    ];
    if (signOut) actions.push([t("Sign out"), () => signOut.requestSubmit(), "signOut"]);
    return actions;
  }
}

/** The palette of the page. */
export const palette = new Palette();

// Title, agent, time and what was found: titles alone may be equal.
async function findChats(query) {
  const { url } = document.getElementById("chats").dataset;
  const list = await readPart(`${url}?${new URLSearchParams(query ? { q: query } : {})}`);
  showLocalTimes(list);
  const links = [...list.querySelectorAll(".chat > a")].slice(0, MAX_CHATS);
  return links.map((link) => [link.children, () => location.assign(link.href)]);
}

// A link of the picker has the agent's mark and name.
function labelOfNewChat(link) {
  if (!link.dataset.app) return link.textContent.trim();
  return t("New chat with {agent}", { agent: link.lastElementChild.textContent });
}

function actionsOnThisChat() {
  const find = () => document.querySelector("#chats .chat:has([aria-current])"); // a list that is read again has new items
  const item = find();
  if (!item) return [];
  const reload = () => document.getElementById("chats").dispatchEvent(new Event("change"));
  const change = (name) => changeChat(item.dataset.id, name).then(reload);
  const isPinned = "pinned" in item.dataset;
  return [
    [t("Rename this chat"), () => rename(find(), reload), "rename"],
    isPinned ? [t("Unpin this chat"), () => change("unpin"), "pin"] : [t("Pin this chat"), () => change("pin"), "pin"],
    [t("Archive this chat"), () => change("archive"), "archive"],
    [t("Delete this chat"), () => remove(find(), reload), "delete"],
  ];
}
