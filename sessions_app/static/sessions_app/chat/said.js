// Messages of the person. A hidden character, such as U+202E, is shown as a mark with its number in hexadecimal.

const PREFIX = 2; // characters of `\u` and `\U`

/** Return the text of a message as the person sent it; undefined for a message without text. */
export function readSaid(article) {
  const said = article.querySelector(".said")?.cloneNode(true);
  for (const mark of said?.querySelectorAll(".audit-hidden") ?? []) {
    mark.replaceWith(String.fromCodePoint(Number.parseInt(mark.textContent.slice(PREFIX), 16)));
  }
  return said?.textContent;
}

/** Show the whole of a long message, or its beginning. */
export function toggleSaid(button) {
  button.ariaExpanded = String(button.ariaExpanded !== "true");
}
