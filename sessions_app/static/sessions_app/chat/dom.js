// Creation of elements. User text is set as text content; HTML comes only from this server.

export function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

/** Make an element for a text of people or models, which has a direction of its own. */
export function makeAuto(tag, className, text) {
  return Object.assign(make(tag, className, text), { dir: "auto" });
}

export function makeButton(className, text, onClick) {
  const button = make("button", className, text);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

/** Enable or disable the buttons within an element. */
export function setEnabled(element, isEnabled) {
  for (const button of element.querySelectorAll("button")) button.disabled = !isEnabled;
}

/** Focus an element that is no control, so that keys and screen readers go on from there. */
export function moveFocus(element) {
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** Parse HTML of the server into a fragment, without running scripts. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Return a random UUID. Unlike `crypto.randomUUID`, this also works over plain HTTP. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
