// Menu of a chat in the list: rename, pin, archive, export, share and delete it.

import { make, makeButton } from "./dom.js";
import { makeIcon } from "./icons.js";
import { t } from "./language.js";
import { load } from "./parts.js";
import { addressOf, changeChat } from "./posts.js";
import { loadStyles } from "./styles.js";
import { showToast } from "./toast.js";

await loadStyles("overStyles");

const EDGE = 8;

export class ChatMenu {
  #item = null;

  /** @param onChange - Callback after a change, when the list should be read again. */
  constructor(root, { onChange }) {
    this.root = root;
    this.onChange = onChange;
    this.popup = make("div", "menu");
    this.popup.popover = "auto";
    this.popup.setAttribute("role", "menu");
    root.append(this.popup);
    this.popup.addEventListener("toggle", ({ newState }) => newState === "closed" && this.#close());
    this.popup.addEventListener("keydown", (event) => this.#move(event));
  }

  /** True while the menu is open: the list must not be replaced then. */
  get isInUse() {
    return this.#item !== null;
  }

  /** Open the menu of the chat that the button belongs to. */
  open(button) {
    this.#item = button.closest(".chat");
    const isPinned = "pinned" in this.#item.dataset;
    const isArchived = "archived" in this.#item.dataset;
    button.setAttribute("aria-expanded", "true");
    this.popup.showPopover();
    const options = [this.#option("rename", t("Rename"), (item) => rename(item, this.onChange))];
    if (isArchived) {
      options.push(this.#simple("archive", t("Unarchive"), "unarchive"));
    } else {
      options.push(isPinned ? this.#simple("pin", t("Unpin"), "unpin") : this.#simple("pin", t("Pin"), "pin"));
      options.push(this.#simple("archive", t("Archive"), "archive"));
    }
    options.push(this.#exports());
    if ("shares" in this.root.dataset) {
      options.push(this.#option("share", t("Share"), (item) => share(item, this.onChange)));
    }
    options.push(this.#option("delete", t("Delete"), (item) => remove(item, this.onChange)));
    this.#show(...options);
  }

  #show(...options) {
    this.popup.replaceChildren(...options);
    this.#place(this.#item.querySelector(".item-menu").getBoundingClientRect());
    this.popup.firstChild.focus();
  }

  #close() {
    this.#item?.querySelector(".item-menu").setAttribute("aria-expanded", "false");
    this.#item = null;
  }

  #place(anchor) {
    const { width, height } = this.popup.getBoundingClientRect();
    const isRoomBelow = anchor.bottom + height + EDGE < innerHeight;
    this.popup.style.top = `${Math.max(EDGE, isRoomBelow ? anchor.bottom : anchor.top - height)}px`;
    const left = document.dir === "rtl" ? anchor.left : anchor.right - width;
    this.popup.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - width - EDGE))}px`;
  }

  #simple(icon, label, change) {
    return this.#option(icon, label, async (item) => {
      await changeChat(item.dataset.id, change);
      this.onChange();
    });
  }

  #option(icon, label, act) {
    const button = makeButton("menu-option", label, async () => {
      const item = this.#dismiss();
      await act(item).catch((error) => showToast(error.message));
    });
    button.setAttribute("role", "menuitem");
    button.prepend(makeIcon(icon));
    return button;
  }

  // Return the option that replaces the options by the forms of an export.
  #exports() {
    const button = makeButton("menu-option", t("Export"), () => {
      const url = addressOf(`chat/${this.#item.dataset.id}/export/`);
      const markdown = this.#link("file", "Markdown", `${url}markdown/`);
      const json = this.#link("file", "JSON", `${url}json/`);
      const printed = this.#link("print", t("Page to print"), `${url}page/`);
      Object.assign(printed, { target: "_blank", rel: "noopener" });
      this.#show(markdown, json, printed);
    });
    button.setAttribute("role", "menuitem");
    button.setAttribute("aria-haspopup", "menu");
    button.prepend(makeIcon("export"));
    return button;
  }

  #link(icon, label, url) {
    const link = Object.assign(make("a", "button menu-option", label), { href: url });
    link.prepend(makeIcon(icon));
    link.setAttribute("role", "menuitem");
    link.addEventListener("click", () => this.#dismiss());
    return link;
  }

  // Close the menu; return the chat that it was open for.
  #dismiss() {
    const item = this.#item;
    item.querySelector(".item-menu").focus();
    this.popup.hidePopover();
    this.#close();
    return item;
  }

  #move(event) {
    const options = [...this.popup.children];
    const at = options.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    options.at(next % options.length).focus();
  }
}

/** Let the person edit the title in its place: Enter or leaving the field saves it, Escape keeps the old one. */
export async function rename(item, onChange) {
  const title = item.querySelector(".item-title");
  if (!item.checkVisibility()) item.closest("[popover]").showPopover(); // the palette is used without the list, too
  const field = Object.assign(make("input", "rename"), { value: title.textContent, maxLength: 200 });
  field.setAttribute("aria-label", t("Title of the chat"));
  const link = item.querySelector("a");
  link.before(field);
  link.hidden = true;
  field.select();
  field.focus();
  const text = await new Promise((resolve) => {
    field.addEventListener("blur", () => resolve(field.value.trim()));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) resolve(field.value.trim());
      if (event.key === "Escape") resolve("");
      event.stopPropagation();
    });
  });
  field.remove();
  link.hidden = false;
  link.focus();
  if (!text || text === title.textContent) return;
  await changeChat(item.dataset.id, "rename", { title: text });
  title.textContent = text;
  onChange();
}

async function share(item, onChange) {
  const { showSharing } = await load(() => import("./share.js"));
  await showSharing(item.dataset.id, onChange);
}

/** Delete the chat, with the possibility to undo it for some seconds. */
export async function remove(item, onChange) {
  const { id } = item.dataset;
  const list = item.closest("#chats");
  const isCurrent = item.querySelector("[aria-current]") !== null;
  await changeChat(id, "delete");
  list.querySelector(`[data-id="${id}"]`)?.remove(); // The list may have been read again, with a new item.
  onChange();
  showToast(t("Deleted."), {
    onUndo: async () => {
      await changeChat(id, "restore").catch((error) => showToast(error.message));
      if (isCurrent) location.reload();
      else onChange();
    },
    onOver: () => isCurrent && location.assign(addressOf("start/")),
  });
}
