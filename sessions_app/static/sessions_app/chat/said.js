// Messages of the person. A hidden character, such as U+202E, is shown as a mark with its number in hexadecimal.

import { make, makeAuto } from "./dom.js";

const PREFIX = 2; // characters of `\u` and `\U`
// The characters of rendering/hidden_characters.py.
const HIDDEN =
  /((?![\t\n\r])\p{Cc}|[\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}])/u;

/** Make an element for a text of the person, with the server's marks in place of hidden characters. */
export function makeMarked(tag, className, text) {
  const element = makeAuto(tag, className, "");
  // Every second piece is a hidden character.
  for (const [index, piece] of text.split(HIDDEN).entries())
    element.append(index % 2 ? make("span", "audit-hidden", markOf(piece)) : piece);
  return element;
}

/** Return the text of a message as the person sent it; undefined for a message without text. */
export function readSaid(article) {
  const said = article.querySelector(".said")?.cloneNode(true);
  for (const mark of said?.querySelectorAll(".audit-hidden") ?? []) {
    mark.replaceWith(String.fromCodePoint(Number.parseInt(mark.textContent.slice(PREFIX), 16)));
  }
  return said?.textContent;
}

function markOf(character) {
  const number = character.codePointAt(0).toString(16);
  return number.length > 4 ? `\\U${number.padStart(8, "0")}` : `\\u${number.padStart(4, "0")}`;
}

/** Show the whole of a long message, or its beginning. */
export function toggleSaid(button) {
  button.ariaExpanded = String(button.ariaExpanded !== "true");
}
