// Palette: a dialog that finds chats, begins new ones and acts on the chat of the page, all by keyboard.

import { addressOf } from "./addresses.js";
import { change } from "./chat_changes.js";
import { make, makeButton, parse } from "./dom.js";
import { t } from "./language.js";
import { remove, rename } from "./menu.js";
import { loadStyles } from "./styles.js";
import { showLocalTimes } from "./times.js";
import { showToast } from "./toast.js";

await loadStyles("onDemand");

const SEARCH_DELAY = 150;
const SHORTCUTS = [
  ["Ctrl+K", t("Search chats and actions")],
  ["?", t("Show the shortcuts")],
  ["Enter", t("Send the message")],
  ["Shift+Enter", t("Begin a new line")],
  ["Escape", t("Cancel editing, close a menu")],
];

const dialog = make("dialog", "palette");
const field = Object.assign(make("input", "search"), { type: "search", placeholder: t("Search chats and actions"), maxLength: 200 });
const options = make("div", "palette-options");
let timer = 0;
let request = 0;
let lastId = 0;
let shownQuery = "";

dialog.setAttribute("aria-label", t("Search chats and actions"));
field.setAttribute("role", "combobox");
field.setAttribute("aria-label", t("Search chats and actions"));
field.setAttribute("aria-expanded", "true");
field.setAttribute("aria-controls", "palette-options");
options.id = "palette-options";
options.setAttribute("role", "listbox");
options.setAttribute("aria-label", t("Chats and actions"));
document.body.append(dialog);

field.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(fill, SEARCH_DELAY);
});
field.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" && !event.isComposing) choose();
  if (!step) return;
  event.preventDefault();
  const all = [...options.querySelectorAll("[role=option]")];
  select(all.at((all.indexOf(selected()) + step) % all.length));
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

/** Open the palette with the text that was typed before. */
export function open(text) {
  dialog.replaceChildren(field, options);
  field.value = text;
  if (!dialog.open) dialog.showModal();
  field.focus();
  fill();
}

/** Show the list of keyboard shortcuts. */
export function showShortcuts() {
  const list = make("dl", "shortcuts");
  for (const [keys, meaning] of SHORTCUTS) {
    const row = make("div", "");
    row.append(make("dt", "", keys), make("dd", "", meaning));
    list.append(row);
  }
  dialog.replaceChildren(make("h2", "", t("Keyboard shortcuts")), list, makeButton("", t("Close"), () => dialog.close()));
  if (!dialog.open) dialog.showModal();
}

// Typing may be ahead of the options.
async function choose() {
  if (field.value.trim() !== shownQuery) await fill();
  if (dialog.open) selected()?.click();
}

async function fill() {
  clearTimeout(timer);
  const query = field.value.trim();
  const mine = ++request;
  shownQuery = null; // until the chats are there, too
  const actions = allActions().filter(([label]) => label.toLowerCase().includes(query.toLowerCase()));
  show(actions, []);
  const url = document.getElementById("chats").dataset.url;
  const response = await fetch(`${url}?${new URLSearchParams(query ? { q: query } : {})}`).catch(() => null);
  if (!response?.ok || mine !== request) return;
  const list = parse(await response.text());
  showLocalTimes(list);
  // Title, agent, time and what was found: titles alone may be equal.
  const chats = [...list.querySelectorAll(".chat > a")].slice(0, 8).map((link) => [link.children, () => location.assign(link.href)]);
  shownQuery = query;
  if (query) show(chats, actions);
  else show(actions, chats);
}

function show(first, second) {
  options.replaceChildren(...[...first, ...second].map(([label, act]) => makeOption(label, act)));
  if (!options.children.length) options.append(make("p", "muted", t("Nothing found.")));
  select(options.querySelector("[role=option]"));
}

function makeOption(label, act) {
  const option = make("div", "palette-option");
  option.append(...(typeof label === "string" ? [label] : label));
  option.id = `palette-option-${(lastId += 1)}`;
  option.dir = "auto";
  option.setAttribute("role", "option");
  option.addEventListener("click", async () => {
    dialog.close();
    await Promise.resolve(act()).catch((error) => showToast(error.message));
  });
  return option;
}

function selected() {
  return options.querySelector('[aria-selected="true"]');
}

function select(option) {
  selected()?.removeAttribute("aria-selected");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
}

function allActions() {
  const links = [...document.querySelectorAll(`a[href^="${addressOf("chat/new/")}"]`)].map((link) => [link.textContent.trim(), () => location.assign(link.href)]);
  const signOut = document.querySelector(".account form");
  return [
    ...links,
    ...actionsOnThisChat(),
    [t("All chats and agents"), () => location.assign(addressOf(""))],
    [t("Archived chats"), () => location.assign(addressOf("?archived=1"))],
    [t("Keyboard shortcuts"), showShortcuts],
    ...(signOut ? [[t("Sign out"), () => signOut.requestSubmit()]] : []),
  ];
}

function actionsOnThisChat() {
  const find = () => document.querySelector("#chats .chat:has([aria-current])"); // a list that is read anew has new items
  const item = find();
  if (!item) return [];
  const reload = () => document.getElementById("chats").dispatchEvent(new Event("change"));
  const simple = (label, what) => [label, () => change(item.dataset.id, what).then(reload)];
  return [
    [t("Rename this chat"), () => rename(find(), reload)],
    "pinned" in item.dataset ? simple(t("Unpin this chat"), "unpin") : simple(t("Pin this chat"), "pin"),
    simple(t("Archive this chat"), "archive"),
    [t("Delete this chat"), () => remove(find(), reload)],
  ];
}
