// Element <adk-chat> of the template tag: a chat in a frame, in the page or behind a button in the corner of the page.

const STYLES = `
  :host { display: block; height: 36rem; --accent: var(--adk-chat-accent, light-dark(#0b6660, #5fd4c6)); --line: var(--adk-chat-line, light-dark(#e2ded6, #34383f)); }
  :host([bubble]) { display: contents; }
  iframe { display: block; box-sizing: border-box; width: 100%; height: 100%; border: 1px solid var(--line); border-radius: var(--adk-chat-round, 14px); }
  button { display: grid; place-items: center; padding: 0; border: 0; border-radius: 50%; cursor: pointer; }
  button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
  svg { width: 1.5rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
  .open { position: fixed; z-index: 1000; inset-block: auto 1.25rem; inset-inline: auto 1.25rem; width: 3.5rem; height: 3.5rem; background: var(--accent); color: var(--adk-chat-on-accent, light-dark(#fff, #06201d)); box-shadow: 0 2px 12px #0004; }
  .close { position: absolute; inset-block: 0.4rem auto; inset-inline: auto 0.4rem; width: 2.75rem; height: 2.75rem; background: none; color: var(--adk-chat-ink, light-dark(#1f2023, #ececee)); }
  [popover] { inset-block: auto 5.75rem; inset-inline: auto 1.25rem; width: min(25rem, 100vw - 2.5rem); height: min(42rem, 100dvh - 7rem); margin: 0; padding: 0; border: 0; overflow: visible; background: none; }
  [popover] iframe { --adk-chat-room: 2.75rem; box-shadow: 0 8px 32px #0003; }
  @media (max-width: 30rem) {
    [popover] { inset: 0; width: 100vw; height: 100dvh; max-width: none; max-height: none; }
    [popover] iframe { border: 0; border-radius: 0; }
  }
`;
const OPEN = '<svg aria-hidden="true" viewBox="0 0 24 24"><path d="M4 5h16v11H9l-5 4z"/></svg>';
const CLOSE = '<svg aria-hidden="true" viewBox="0 0 24 24"><path d="M6 6l12 12M18 6L6 18"/></svg>';
const IN_USE = "dialog[open], :popover-open, #editing:not([hidden])"; // what Escape closes in the frame first
const HAS_KEYBOARD = matchMedia("(hover: hover)");
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLES);

class AdkChat extends HTMLElement {
  #frame = null;
  #panel = null;
  #button = null;

  connectedCallback() {
    if (this.shadowRoot) return;
    this.src = this.getAttribute("src");
    this.label = this.getAttribute("label");
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
    this.#frame = Object.assign(document.createElement("iframe"), { title: this.label, loading: "lazy" });
    this.#frame.addEventListener("load", () => this.#handleLoad());
    if (this.hasAttribute("bubble")) return this.#addBubble();
    this.shadowRoot.append(this.#frame);
    this.#load();
  }

  // The key begins like those of unsent texts, so that signing out removes it.
  get #storageKey() {
    return `chat:embedded:${this.src}:${location.pathname}`;
  }

  #load() {
    this.#frame.src = localStorage.getItem(this.#storageKey) ?? this.src;
  }

  #addBubble() {
    this.#button = makeButton("open", this.label, OPEN, () => (this.#isOpen ? this.#close() : this.#open()));
    this.#button.ariaExpanded = "false";
    this.#panel = Object.assign(document.createElement("div"), {
      popover: "manual",
      role: "dialog",
      ariaLabel: this.label,
    });
    this.#panel.addEventListener("keydown", (event) => event.key === "Escape" && this.#close());
    const close = makeButton("close", this.getAttribute("close"), CLOSE, () => this.#close());
    this.#panel.append(this.#frame, close);
    this.shadowRoot.append(this.#button, this.#panel);
  }

  get #isOpen() {
    return Boolean(this.#panel?.matches(":popover-open"));
  }

  #open() {
    this.#panel.showPopover();
    this.#button.ariaExpanded = "true";
    if (this.#frame.src) this.#focusFrame();
    else this.#load();
  }

  #close() {
    this.#panel.hidePopover();
    this.#button.ariaExpanded = "false";
    this.#button.focus();
  }

  #handleLoad() {
    const page = this.#frame.contentWindow;
    if (!this.#frame.contentDocument) return; // the browser shows an error page
    const { pathname } = page.location;
    if (pathname.startsWith(this.src) && pathname !== this.src) localStorage.setItem(this.#storageKey, pathname);
    if (!this.#panel) return;
    page.addEventListener("keydown", (event) => this.#handleKey(event), { capture: true });
    if (this.#isOpen) this.#focusFrame();
  }

  #handleKey(event) {
    const isFree = !this.#frame.contentDocument.querySelector(IN_USE);
    if (event.key === "Escape" && !event.isComposing && isFree) this.#close();
  }

  // On a touch screen a focused field would open the keyboard.
  #focusFrame() {
    const field = HAS_KEYBOARD.matches ? this.#frame.contentDocument?.querySelector("#message, .primary") : null;
    (field ?? this.#frame).focus();
  }
}

function makeButton(className, label, icon, onClick) {
  const button = Object.assign(document.createElement("button"), {
    className,
    type: "button",
    ariaLabel: label,
    innerHTML: icon,
  });
  button.addEventListener("click", onClick);
  return button;
}

customElements.define("adk-chat", AdkChat);
